// dead
//
//   y = all_gather(x)   ->   (nothing)
//
// Legal when: nobody reads y, stores it (update) or returns it; y may be a broadcast as well. So
//             as_slice(m) comes before dead of the gather that m's update stored.
// Pays when:  always: (N-1)/N of y is not sent.
// Label:      exact.
#pragma once

#include "coconet/schedule/rewrite.h"

namespace coconet {

struct DeadMatch {
  NodeId gather;
};
Verdict<DeadMatch> match_dead(const Graph& graph, NodeId gather);
Rewrite dead(const Graph& graph, const DeadMatch& match);

}  // namespace coconet
