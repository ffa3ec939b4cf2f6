// What every transformation gives back.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coconet/graph/graph.h"

namespace coconet {

// How a step relates the results before and after.
enum class Exactness { exact, reassociates };

// `forward[i]` is the new node that has the value of old node i (for a node that moved before a
// gather: the gather of its value, if one is kept); invalid if no node has that value any more.
struct Rewrite {
  Graph graph;
  std::vector<NodeId> forward;
  std::vector<GroupId> forward_groups;
  // What the step returns, in the order that its result names stand (verbs.h): each a set of nodes
  // (a body) or one node, or a group.
  struct Result {
    std::vector<NodeId> nodes;
    GroupId group;
    bool body = false;
  };
  std::vector<Result> results;
  Exactness exactness = Exactness::exact;
};

// Why a step does not apply: which operation blocks it, what was found, what was needed, what would
// be legal.
struct Refusal {
  std::string reason;
  NodeId blocked_by;  // invalid if no one node does
};

// A verdict: either what the transformation needs to apply itself (`Match`), or the refusal.
template <class Match>
using Verdict = std::variant<Match, Refusal>;

}  // namespace coconet
