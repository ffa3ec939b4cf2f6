// fuse, of computations
//
//   a = f(x); b = g(a, y)      ->   fused k { a = f(x); b = g(a, y) }
//
// Legal when: pointwise operations and row reductions of one iteration space (one shape and
//             placement; scalars and what is broadcast to it may be among them), convex, in no
//             cycle with other groups, in no group yet, in the order of their reading.
// Pays when:  always: each value that is read inside stays in registers.
// Label:      exact.
//
// fuse, of a collective and its computation
//
//   c = prologue(x)                       ->   fused k {
//   rs = reduce_scatter(c, op, slice)            one pass: read c of every rank's x, fold,
//   body = f(rs, ...)                            compute in registers, write to every rank
//   gather = all_gather(body)                  }
//
// or a part of it: (prologue, rs), (rs, body), (body, gather). A shift stands where a gather does,
// (body, shift): each value is written to the rank that it is sent to. An update whose new value is
// in the group belongs to it, unless a reader of the old value has to run after the group. A body
// with norms has phases, one pass each; the norms' block sums and their gather belong to the group.
//
// Legal when: one reduce_scatter at most; the prologue pointwise, read by nothing outside, as it is
//             never stored; the body in the space of what is scattered or gathered; gathers and
//             shifts last, gathers over the axes of the reduce_scatter.
// Pays when:  always: one launch, no buffer between; 16-bit pieces travel as 16 bits.
// Label:      exact.
#pragma once

#include <string_view>
#include <vector>

#include "coconet/schedule/rewrite.h"

namespace coconet {

struct FuseMatch {
  std::vector<NodeId> nodes;  // all members, ascending
};
// Each part is a node or a body, in order.
Verdict<FuseMatch> match_fuse(const Graph& graph, const std::vector<std::vector<NodeId>>& parts);
// Result: the group, under a name made from `name`.
Rewrite fuse(const Graph& graph, const FuseMatch& match, std::string_view name = "fusion");

}  // namespace coconet
