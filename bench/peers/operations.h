// What is measured of a library: workloads written by hand upon its collectives, each in several
// forms. An operation's name is WORKLOAD.DTYPE/FORM.
#pragma once

#include <memory>
#include <string>

#include "bench/peers/library.h"
#include "bench/worker/arrays.h"
#include "bench/worker/serve.h"

namespace coconet::bench {

struct OperationName {
  explicit OperationName(const std::string& name);
  std::string workload, dtype, form;
};

// By the argument `group`: optimizers, rows or products.
std::unique_ptr<Operations> operations_of(Library& library, const Arguments& arguments);

// all_reduce.f32/plain; adam, lamb and the same of lists, with gradients of f32 or f16:
//   all_reduce   all_reduce, then the loop over all elements
//   scatter      reduce_scatter, the loop over this rank's slice, all_gather of parameters
//   all_to_all   f16: 16 bits travel, each rank sums its slice; then as scatter
//   per_tensor   of a list: an all_reduce for each member, no copy into one array
// f16 gradients are widened for those forms that sum f32. A list is copied to one flat array for
// those forms that need one.
std::unique_ptr<Operations> optimizers(Library& library, const Arguments& arguments);

// all_reduce.bf16/plain; rms_norm.bf16 (sum, residual, rms_norm of rows):
//   all_reduce, scatter   as above, of rows
//   gather                every rank gets all parts, and sums them in the loop
std::unique_ptr<Operations> rows(Library& library, const Arguments& arguments);

// all_reduce.DTYPE/plain; matmul.DTYPE (product, sum, bias, dropout, residual): all_reduce,
// scatter.
std::unique_ptr<Operations> products(Library& library, const Arguments& arguments);

}  // namespace coconet::bench
