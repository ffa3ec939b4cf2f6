#include "coconet/schedule/as_slice.h"

#include <optional>

#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"

namespace coconet {
namespace {

// The words of the two forms.
struct Form {
  std::string_view verb, place, gather, placed;
};
constexpr Form kSliced{"as_slice", "shard", "all_gather", "sliced"};
constexpr Form kRooted{"as_rooted", "root", "broadcast", "rooted"};

bool places(const Form& form, const Op& op) { return name_of(op) == form.place; }

std::optional<Refusal> refuse_state(const Graph& graph, NodeId state, const Form& form) {
  const Node& node = graph.node(state);
  const std::string verb(form.verb);
  const Input* input = std::get_if<Input>(&node.op);
  if (!input) {
    return Refusal{quoted(graph, state) + " is computed; " + verb + " takes a state", state};
  }
  if (input->kind != InputKind::state) {
    return Refusal{quoted(graph, state) + " is an input, whose placement belongs to the caller; " +
                       "declare it `state " + node.name + "` if the program may keep it",
                   state};
  }
  for (const Output& output : graph.outputs()) {
    if (output.node != state) continue;
    return Refusal{"the program returns the old value of " + quoted(graph, state) + " whole",
                   state};
  }
  return std::nullopt;
}

// The placement that the readers of the state agree on.
Verdict<AsSliceMatch> match_form(const Graph& graph, NodeId state, const Form& form) {
  if (auto refusal = refuse_state(graph, state, form)) return *refusal;
  const std::string name = quoted(graph, state);
  const std::string word(form.place);
  AsSliceMatch match{state, {}, {}};
  std::vector<NodeId> touched{state};
  NodeId agreed;
  const auto agree = [&](NodeId with, const TensorType& type) -> std::optional<Refusal> {
    if (agreed.valid() && !(match.type == type)) {
      return Refusal{quoted(graph, with) + " uses " + name + " as " + type.text(graph.mesh()) +
                         ", but " + quoted(graph, agreed) + " as " + match.type.text(graph.mesh()),
                     with};
    }
    agreed = with;
    match.type = type;
    return std::nullopt;
  };
  const auto readers = readers_of(graph);
  for (NodeId reader : readers[state.index]) {
    const Node& node = graph.node(reader);
    touched.push_back(reader);
    std::optional<Refusal> refusal;
    if (places(form, node.op)) {
      refusal = agree(reader, node.type);
    } else if (std::holds_alternative<Update>(node.op) && node.inputs[1] != state) {
      match.update = reader;
      const Node& value = graph.node(node.inputs[1]);
      if (name_of(value.op) != form.gather) {
        return Refusal{quoted(graph, reader) + " stores a whole value in " + name + ", not the " +
                           std::string(form.gather) + " of a " + std::string(form.placed) +
                           " one; reorder it before a gather first",
                       reader};
      }
      const Broadcast* send = std::get_if<Broadcast>(&value.op);
      if (send && send->root) {
        return Refusal{quoted(graph, reader) + " stores one rank's of a local value in " + name +
                           ", which has no rooted form; reduce it to a root first",
                       reader};
      }
      refusal = agree(reader, graph.node(value.inputs[0]).type);
    } else if (!graph.node(state).type.layout.all_replicated()) {
      return Refusal{name + " is " + graph.node(state).type.text(graph.mesh()) + " already, and " +
                         quoted(graph, reader) + " reads it as that",
                     reader};
    } else {
      return Refusal{quoted(graph, reader) + " reads " + name +
                         " whole; reorder it before a gather, "
                         "so that it reads " +
                         word + "(" + graph.node(state).name + ")",
                     reader};
    }
    if (refusal) return *refusal;
  }
  if (!agreed.valid()) return Refusal{"nobody reads " + name + " as " + word + "(...)", state};
  if (auto refusal = refuse_grouped(graph, touched)) return *refusal;
  return match;
}

Rewrite place_state(const Graph& graph, const AsSliceMatch& match, const Form& form) {
  Rebuild rebuild(graph);
  for (int i = 0; i < graph.size(); ++i) {
    const NodeId id{i};
    const Node& node = graph.node(id);
    if (id == match.state) {
      Input input = std::get<Input>(node.op);
      input.type = match.type;
      rebuild.replace(id, rebuild.builder().add(input, {}, node.name, node.where));
    } else if (places(form, node.op) && node.inputs[0] == match.state) {
      rebuild.replace(id, rebuild.at(match.state));
    } else if (id == match.update) {
      const NodeId gather = node.inputs[1];
      const NodeId value = rebuild.at(graph.node(gather).inputs[0]);
      // An output of the update's name is the gather now, so the update cannot keep the name.
      bool returned = false;
      for (const Output& output : graph.outputs()) {
        returned = returned || (output.name == node.name && output.node == id);
      }
      const std::string name = returned ? rebuild.fresh(node.name + "_stored") : node.name;
      const NodeId now =
          rebuild.builder().add(node.op, {rebuild.at(match.state), value}, name, node.where);
      rebuild.replace(id, rebuild.at(gather));
      rebuild.forward(id, now);
    } else {
      rebuild.copy(id);
    }
  }
  return std::move(rebuild).finish();
}

}  // namespace

Verdict<AsSliceMatch> match_as_slice(const Graph& graph, NodeId state) {
  return match_form(graph, state, kSliced);
}
Rewrite as_slice(const Graph& graph, const AsSliceMatch& match) {
  return place_state(graph, match, kSliced);
}
Verdict<AsSliceMatch> match_as_rooted(const Graph& graph, NodeId state) {
  return match_form(graph, state, kRooted);
}
Rewrite as_rooted(const Graph& graph, const AsSliceMatch& match) {
  return place_state(graph, match, kRooted);
}

}  // namespace coconet
