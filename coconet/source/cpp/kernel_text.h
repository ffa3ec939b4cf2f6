// The C++ of one kernel of a plan.
#pragma once

#include <string>

#include "coconet/plan/plan.h"
#include "coconet/source/cpp/text.h"

namespace coconet::source::cpp {

// "Status launch_3(const Ranks& ranks, const Space& space) { ... }": performs the kernel on the
// elements of `space`.
std::string kernel_text(const plan::Plan& plan, int launch, const plan::Kernel& kernel,
                        Pieces& pieces, const std::map<int, std::string>& buffer_names);

}  // namespace coconet::source::cpp
