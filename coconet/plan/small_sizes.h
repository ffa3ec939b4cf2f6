// Small sizes on which a plan can be verified: uneven ones, and ones that the program allows.
#pragma once

#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::plan {

// Meshes of 1, 2 and 3 ranks along the first axis and at most 2 along others; then, for programs
// that require more, of the numbers that their requirements name.
std::vector<MeshSizes> small_meshes(const Graph& graph);

// Sizes for every dim. `blocks`: so many blocks of what a slice (*) cuts, if anything is cut so:
// only then are the ranks' pieces of it more than one; 0: no matter.
Sizes small_sizes(const Plan& plan, std::int64_t blocks);

// Some buffer is sliced by blocks.
bool cuts_blocks(const Plan& plan);

// The most chunks that a ring of the plan has memory for; 0: it has no ring.
int longest_ring(const Plan& plan);
// Sizes at which each of 3 ranks has rows for one chunk more in every ring.
Sizes ring_sizes(const Plan& plan);

// The sizes, or where the program does not allow them, the first small ones of the dims that bound
// it which it allows on the mesh; the sizes themselves if none are.
Sizes allowed_sizes(const Plan& plan, const Sizes& sizes, const MeshSizes& mesh);

}  // namespace coconet::plan
