// What must hold of every graph; run on every finished graph.
#pragma once

#include "coconet/graph/graph.h"

namespace coconet {

inline constexpr int kMostAxes = 8;
// UserError(type) at `where` unless the mesh has at most kMostAxes axes. Every graph's has.
void verify_mesh(const Mesh& mesh, const Where& where = {});

// 1. Inputs stand before their readers.
// 2. Every type is what inference gives.
// 3. Names are unique; an unnamed node has one reader.
// 4. Outputs and group members exist; a node is in one group at most.
// 5. Members of a group, with their unnamed sub-expressions, stand together, so they are convex (no
//    path leaves and returns) and groups have no cycle.
// 6. update: its first input is an Input (no scalar); each storage has one update; no reader of the
//    old value depends on the update, and all stand before it.
// 7. A dim of lists, as N_i, is no dim of other inputs; a list of scalars has an input that says
// how
//    many.
// 1-5 broken: InternalError. 6, 7 broken: UserError(type), since a program can say it.
void verify(const Graph& graph);

// Rule 6 alone, of nodes in any order in which operands stand before their readers.
void verify_updates(const Graph& graph);
// Rule 7 alone.
void verify_lists(const Graph& graph);

}  // namespace coconet
