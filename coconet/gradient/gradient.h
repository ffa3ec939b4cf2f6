// Derives the gradient of a program: a program itself, to be scheduled, tuned and compiled.
//
//   program f(x, w, b) -> y      becomes      program f_gradient(x, w, b, d_y) -> d_x, d_w, d_b
//
// d_y is the gradient of some scalar by y, d_x that by x. What the rules need of f's values is
// computed again. The gradient of a value lies where the value does, but of a partial(+) one, which
// is the same for every summand: replicated. So all_gather and reduce_scatter are each other's
// rules, all_reduce and the reading of a replicated value by sliced ones likewise
// (docs/layouts.md). Dropouts keep their sites: at the seed and call number of a call of f they
// drop what that call dropped.
#pragma once

#include <string>
#include <vector>

#include "coconet/graph/graph.h"

namespace coconet {

struct GradientOptions {
  std::vector<std::string> inputs =
      {};  // whose gradients are wanted; none: of all floating tensors
};

// The floating tensors among the inputs on which an output depends: by which there is a gradient.
std::vector<std::string> differentiable_inputs(const Graph& program);

// Outputs are in the order of the inputs; an input on which no output depends has none. UserError
// (unsupported) that names the operation if one that matters has no rule: an update, a list, a
// fold by max, min or prod across ranks, conv2d, prod, stack; UserError(usage) for a name that is
// no floating tensor of the program, a value that has the name of a gradient, or if nothing is
// left.
Graph gradient(const Graph& program, const GradientOptions& options = {});

}  // namespace coconet
