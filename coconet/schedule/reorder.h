// reorder
//
//   y = all_gather(x)                    ->   z' = f(x, shard(w))
//   z = f(y, w)                               z_gather = all_gather(z')
//
//   m2 = update(m, g(y, m))              ->   m2' = g(x, shard(m))
//                                             m2_gather = all_gather(m2')
//                                             m2 = update(m, m2_gather)
//
// The operations listed, each with its unnamed sub-expressions, run before the gathers instead of
// after them: computation and communication alike. A broadcast is moved in the same way, with
// root(w, r) for shard(w). An operand from outside that is replicated on the axis becomes shard(w)
// where it spans the sliced dims of the sliced operand that it meets (where it meets none: of the
// gathered value whose shape it has); else it stays whole: scalars, biases, a matmul's other
// operand. shard(all_gather(x)) with the same slice is x. A norm over slices gains its collective,
// visibly. A value that is needed whole (read outside, returned, stored) is gathered again, by the
// placement that inference gave; the old gather goes if nobody reads it any more.
//
// Legal when: the operations and the gathers are closed (no path between two of them leaves them),
//             and every one, rebuilt on sliced operands, passes inference without a new collective
//             (that of a norm or of a sum over the whole tensor excepted).
// Pays when:  the operations cost more than the values still needed whole: each rank computes 1/N.
//             On the wire nothing changes for one whole value; each further one costs (N-1)/N of
//             it until as_slice and dead remove it.
// Label:      exact; reassociates if a norm runs over slices other than (*).
#pragma once

#include <vector>

#include "coconet/schedule/rewrite.h"

namespace coconet {

struct ReorderMatch {
  std::vector<NodeId> gathers;
  std::vector<NodeId> operations;  // named, in the order of the list
};
Verdict<ReorderMatch> match_reorder(const Graph& graph, const std::vector<NodeId>& gathers,
                                    const std::vector<NodeId>& operations);
// Results: the body (what moved), then one gather for each value still needed whole, in list order.
Rewrite reorder(const Graph& graph, const ReorderMatch& match);

}  // namespace coconet
