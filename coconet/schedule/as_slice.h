// as_slice
//
//   state m: f32[N]                      ->   state m: f32[N] sliced(*)
//   m2' = f(shard(m, (*)))                    m2' = f(m)
//   gm = all_gather(m2')                      gm = all_gather(m2')
//   m2 = update(m, gm)                        m2 = update(m, m2')
//
// Other readers of m2 read gm, which has its value.
//
// Legal when: m is a state (an input's placement belongs to the caller), read only by shard(m,
//             slice) with one slice, or as the first operand of its update, which stores a gather
//             of what is sliced so.
// Pays when:  always: each rank keeps 1/N of the state, and the gather may be dropped (dead).
// Label:      exact.
//
// as_rooted: the same with root(m, r), broadcast and rooted(r): one rank keeps the state.
#pragma once

#include "coconet/schedule/rewrite.h"

namespace coconet {

struct AsSliceMatch {
  NodeId state;
  TensorType type;  // with its new placement
  NodeId update;    // invalid if it has none
};
Verdict<AsSliceMatch> match_as_slice(const Graph& graph, NodeId state);
Rewrite as_slice(const Graph& graph, const AsSliceMatch& match);

Verdict<AsSliceMatch> match_as_rooted(const Graph& graph, NodeId state);
Rewrite as_rooted(const Graph& graph, const AsSliceMatch& match);

}  // namespace coconet
