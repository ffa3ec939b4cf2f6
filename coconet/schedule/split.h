// split_all_reduce
//
//   y = all_reduce(x, op)   ->   y_rs = reduce_scatter(x, op, slice)
//                                y_ag = all_gather(y_rs)
//
// Legal when: x may be sliced so: pieces may be uneven or empty; what is sliced already keeps its
//             order (docs/numerics.md).
// Pays when:  something after y can run on 1/N of the data (see reorder). Alone it is neutral: both
//             sides move 2(N-1)/N of x.
// Label:      exact.
//
// reduce_broadcast
//
//   y = all_reduce(x, op)   ->   y_reduce = reduce(x, op, 0)
//                                y_broadcast = broadcast(y_reduce)
//
// Legal when: always.
// Pays when:  what follows y can run on one rank that alone holds its state (see reorder,
//             as_rooted): N-1 of x in, N-1 of the result out.
// Label:      exact.
//
// split_hierarchical
//
//   y = all_reduce(x, op)@[outer,inner]   ->   y_rs = reduce_scatter(x, op, slice)@inner
//                                              y_ar = all_reduce(y_rs, op)@outer
//                                              y_ag = all_gather(y_ar)@inner
//
// Legal when: the all_reduce names two axes; the first is the outer one.
// Pays when:  the outer axis is slower: 1/inner of x crosses it.
// Label:      reassociates; exact for integers, min and max.
#pragma once

#include <optional>

#include "coconet/schedule/rewrite.h"

namespace coconet {

struct SplitMatch {
  NodeId all_reduce;
  Slice slice;
};
// Without a slice: default_slice (schedule/default_slice.h).
Verdict<SplitMatch> match_split_all_reduce(const Graph& graph, NodeId all_reduce,
                                           std::optional<Slice> slice = std::nullopt);
Rewrite split_all_reduce(const Graph& graph, const SplitMatch& match);

struct ReduceBroadcastMatch {
  NodeId all_reduce;
};
Verdict<ReduceBroadcastMatch> match_reduce_broadcast(const Graph& graph, NodeId all_reduce);
Rewrite reduce_broadcast(const Graph& graph, const ReduceBroadcastMatch& match);

Verdict<SplitMatch> match_split_hierarchical(const Graph& graph, NodeId all_reduce,
                                             std::optional<Slice> slice = std::nullopt);
Rewrite split_hierarchical(const Graph& graph, const SplitMatch& match);

}  // namespace coconet
