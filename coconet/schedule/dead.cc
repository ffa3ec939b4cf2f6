#include "coconet/schedule/dead.h"

#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"

namespace coconet {

Verdict<DeadMatch> match_dead(const Graph& graph, NodeId gather) {
  if (!op_as<AllGather>(graph, gather) && !op_as<Broadcast>(graph, gather)) {
    return Refusal{quoted(graph, gather) + " is " + std::string(name_of(graph.node(gather).op)) +
                       "; dead drops an all_gather or broadcast",
                   gather};
  }
  for (const Output& output : graph.outputs()) {
    if (output.node != gather) continue;
    return Refusal{"the program returns " + quoted(graph, gather) + " as `" + output.name +
                       "`, so it must stay",
                   gather};
  }
  const auto readers = readers_of(graph);
  for (NodeId reader : readers[gather.index]) {
    if (op_as<Update>(graph, reader)) {
      const std::string& storage = graph.node(graph.node(reader).inputs[0]).name;
      const bool rooted = op_as<Broadcast>(graph, gather);
      return Refusal{quoted(graph, reader) + " stores " + quoted(graph, gather) + " in `" +
                         storage + "`; " + (rooted ? "as_rooted(" : "as_slice(") + storage +
                         ") first",
                     reader};
    }
    return Refusal{quoted(graph, reader) + " still reads " + quoted(graph, gather) +
                       "; reorder it to the slices first",
                   reader};
  }
  if (auto refusal = refuse_grouped(graph, {gather})) return *refusal;
  return DeadMatch{gather};
}

Rewrite dead(const Graph& graph, const DeadMatch& match) {
  Rebuild rebuild(graph);
  for (int i = 0; i < graph.size(); ++i) {
    if (NodeId{i} != match.gather) rebuild.copy({i});
  }
  return std::move(rebuild).finish();
}

}  // namespace coconet
