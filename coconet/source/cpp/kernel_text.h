// The C++ of one kernel of a plan.
#pragma once

#include <string>
#include <vector>

#include "coconet/plan/plan.h"
#include "coconet/source/cpp/names.h"
#include "coconet/source/cpp/text.h"

namespace coconet::source::cpp {

struct BufferNames {
  explicit BufferNames(const plan::Plan& plan);
  std::vector<std::string> of;  // by buffer
  Names of_kernels;             // what no value of a kernel may be called
};

// "Status launch_3(const Ranks& ranks, const Space& space) { ... }": performs the kernel on the
// elements of `space`; what is stored once a call, where `space` is visited from its begin.
std::string kernel_text(const plan::Plan& plan, int launch, const plan::Kernel& kernel,
                        Pieces& pieces, const BufferNames& buffers);

// Where threads may cut what the kernel visits: "RunCut::at_rows"; "" if it visits nothing, as its
// values are of the whole call.
std::string run_cut_text(const plan::Kernel& kernel);

}  // namespace coconet::source::cpp
