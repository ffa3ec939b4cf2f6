// distribute
//
//   x   ->   x_shard = shard(x, slice)
//            x_gather = all_gather(x_shard)      (what read x reads x_gather; a returned x stays)
//
// Legal when: x is replicated on the axes (the one axis that fits, if none is named) and read.
// Pays when:  what follows x is worth computing once instead of on every rank (see reorder): the
//             gather costs (N-1)/N of x.
// Label:      exact.
#pragma once

#include <optional>

#include "coconet/schedule/rewrite.h"

namespace coconet {

struct DistributeMatch {
  NodeId value;
  Slice slice;
  AxisList axes;
};
// Without axes: the one axis on which the value is replicated. Without a slice: its row dims if a
// matmul makes it or rows of it are reduced, else (*).
Verdict<DistributeMatch> match_distribute(const Graph& graph, NodeId value,
                                          std::optional<Slice> slice = std::nullopt,
                                          AxisList axes = {});
Rewrite distribute(const Graph& graph, const DistributeMatch& match);

}  // namespace coconet
