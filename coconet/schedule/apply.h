// Applies a schedule to a graph step by step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/schedule/rewrite.h"
#include "coconet/schedule/step.h"

namespace coconet {

// What a name stands for while a schedule is applied: a node, a group, or a body (a set of nodes).
struct Handle {
  std::vector<NodeId> nodes;
  GroupId group;
  bool body = false;
  std::string gone;  // not empty: no longer there; why, and what stands there now
};

struct Applied {
  Graph graph;
  std::map<std::string, Handle> handles;
  Exactness exactness = Exactness::exact;
};

Applied start(const Graph& graph);
// UserError(schedule) at the step's place if it does not apply: the step, the operation that blocks
// it, found, needed, legal.
Applied apply(const Applied& before, const Step& step);
Applied apply(const Graph& graph, const Schedule& schedule);
// As apply, but without the graph: what the step makes of the results.
Exactness exactness_of(const Applied& before, const Step& step);

// `wanted`, or wanted with a number, whatever neither a handle nor the graph has, nor `others`: a
// name for a result of the next step.
std::string result_name(const Applied& applied, const std::string& wanted,
                        const std::vector<std::string>& others = {});

}  // namespace coconet
