// overlap
//
//   layer = matmul(x, w)                  ->   overlapped k {
//   fused ar { rs, body, gather }                layer = matmul(x, w)
//                                                fused ar { rs, body, gather }
//                                              }
//
// Producer and consumers run chunk by chunk: while one chunk is consumed the next is produced, in
// the order in which the consumer takes them.
//
// Legal when: there is one dim range along which every operation maps chunk c to chunk c: rows of a
//             matmul (K is never cut), pointwise operations, reductions of other dims, and the
//             collectives' slice itself. What needs all chunks (a norm, block sums) may only come
//             last. Each member reads the one before it; together they are convex and in no cycle
//             with other groups.
// Pays when:  compute and transfer take comparable time: the shorter one is hidden.
// Label:      exact.
#pragma once

#include <string_view>
#include <vector>

#include "coconet/schedule/rewrite.h"

namespace coconet {

// A node or a group.
struct OverlapMember {
  NodeId node;
  GroupId group;
};

struct OverlapMatch {
  std::vector<NodeId> nodes;  // direct members, with unnamed sub-expressions
  std::vector<GroupId> groups;
  Slice slice;  // along which chunks are cut
};
Verdict<OverlapMatch> match_overlap(const Graph& graph, const std::vector<OverlapMember>& members);
// Result: the group, under a name made from `name`.
Rewrite overlap(const Graph& graph, const OverlapMatch& match, std::string_view name = "pipeline");

// The slice along which the chunks of an overlapped group of a verified graph are cut.
Slice chunk_slice_of(const Graph& graph, GroupId overlapped);

}  // namespace coconet
