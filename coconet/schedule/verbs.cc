#include "coconet/schedule/verbs.h"

#include <algorithm>

#include "coconet/schedule/as_slice.h"
#include "coconet/schedule/dead.h"
#include "coconet/schedule/distribute.h"
#include "coconet/schedule/fuse.h"
#include "coconet/schedule/overlap.h"
#include "coconet/schedule/region.h"
#include "coconet/schedule/reorder.h"
#include "coconet/schedule/split.h"

namespace coconet {
namespace {

using Given = std::span<const ResolvedArgument>;

// A refusal on the way to a match.
struct Wrong {
  Refusal refusal;
};
[[noreturn]] void wrong(std::string reason, NodeId node = {}) {
  throw Wrong{{std::move(reason), node}};
}

template <class Match>
Outcome outcome(const Graph& graph, const Verdict<Match>& verdict,
                Rewrite (*apply)(const Graph&, const Match&)) {
  if (const Refusal* refusal = std::get_if<Refusal>(&verdict)) return *refusal;
  return apply(graph, std::get<Match>(verdict));
}

NodeId node_of(const NamedHandle& named) {
  const Handle& handle = named.handle;
  if (handle.group.valid()) wrong("`" + named.name + "` is a group; one operation is needed here");
  if (handle.nodes.size() != 1) {
    wrong("`" + named.name + "` is a body of " + std::to_string(handle.nodes.size()) +
          " operations; one is needed here");
  }
  return handle.nodes[0];
}

NodeId node_at(Given arguments, std::size_t k, std::string_view what) {
  const NamedHandle* named =
      k < arguments.size() ? std::get_if<NamedHandle>(&arguments[k]) : nullptr;
  if (!named) wrong("argument " + std::to_string(k + 1) + " must be " + std::string(what));
  return node_of(*named);
}

// A name or a list of names, each with all its nodes.
std::vector<std::vector<NodeId>> node_lists(const ResolvedArgument& argument,
                                            std::string_view what) {
  std::vector<NamedHandle> list;
  if (const NamedHandle* named = std::get_if<NamedHandle>(&argument)) {
    list = {*named};
  } else if (const auto* names = std::get_if<std::vector<NamedHandle>>(&argument)) {
    list = *names;
  } else {
    wrong(std::string(what) + " must be a name or a list of names");
  }
  std::vector<std::vector<NodeId>> out;
  for (const NamedHandle& named : list) {
    if (named.handle.group.valid()) {
      wrong("`" + named.name + "` is a group already; " + std::string(what) +
            " must be operations or a body");
    }
    out.push_back(named.handle.nodes);
  }
  return out;
}

std::vector<NodeId> node_list(const ResolvedArgument& argument, std::string_view what) {
  std::vector<NodeId> out;
  for (const std::vector<NodeId>& nodes : node_lists(argument, what)) {
    out.insert(out.end(), nodes.begin(), nodes.end());
  }
  return out;
}

void expect_count(Given arguments, std::size_t least, std::size_t most) {
  if (arguments.size() < least || arguments.size() > most) {
    const std::string range = least == most ? std::to_string(least)
                                            : std::to_string(least) + " to " + std::to_string(most);
    const std::size_t found = arguments.size();
    wrong("found " + std::to_string(found) + (found == 1 ? " argument" : " arguments") +
          "; it takes " + range);
  }
}

void take_slice(std::optional<Slice>& slice, const Slice& given) {
  if (slice)
    wrong("found two slices, " + slice->text() + " and " + given.text() + "; it takes one");
  slice = given;
}

Outcome apply_split(const Graph& graph, Given arguments) {
  expect_count(arguments, 1, 3);
  const NodeId id = node_at(arguments, 0, "an all_reduce");
  std::optional<Slice> slice;
  std::string kind;
  for (const ResolvedArgument& argument : arguments.subspan(1)) {
    if (const Slice* given = std::get_if<Slice>(&argument)) {
      take_slice(slice, *given);
    } else if (const Word* word = std::get_if<Word>(&argument)) {
      if (!kind.empty())
        wrong("found two kinds, " + kind + " and " + word->text + "; it takes one");
      kind = word->text;
    } else {
      wrong(
          "what follows the all_reduce must be a slice, as in (0), or one of rs_ag, "
          "reduce_broadcast and hierarchical");
    }
  }
  if (kind == "reduce_broadcast") {
    if (slice) wrong("reduce_broadcast takes no slice: rank 0 holds the whole");
    return outcome(graph, match_reduce_broadcast(graph, id), reduce_broadcast);
  }
  if (kind == "hierarchical") {
    return outcome(graph, match_split_hierarchical(graph, id, slice), split_hierarchical);
  }
  return outcome(graph, match_split_all_reduce(graph, id, slice), split_all_reduce);
}

Outcome apply_distribute(const Graph& graph, Given arguments) {
  expect_count(arguments, 1, static_cast<std::size_t>(graph.mesh().size()) + 2);
  const NodeId id = node_at(arguments, 0, "a replicated value");
  std::optional<Slice> slice;
  AxisList axes;
  for (const ResolvedArgument& argument : arguments.subspan(1)) {
    if (const Slice* given = std::get_if<Slice>(&argument)) {
      take_slice(slice, *given);
      continue;
    }
    const Word* word = std::get_if<Word>(&argument);
    const auto axis = word ? graph.mesh().axis(word->text) : std::nullopt;
    if (!axis) wrong("what follows the value must be a slice, as in (0), or a mesh axis");
    if (std::ranges::count(axes, *axis) > 0) wrong("the axis " + word->text + " is given twice");
    axes.push_back(*axis);
  }
  std::ranges::sort(axes);
  return outcome(graph, match_distribute(graph, id, slice, axes), distribute);
}

Outcome apply_reorder(const Graph& graph, Given arguments) {
  expect_count(arguments, 2, 2);
  return outcome(graph,
                 match_reorder(graph, node_list(arguments[0], "the gathers"),
                               node_list(arguments[1], "the operations to move")),
                 reorder);
}

Outcome apply_as_slice(const Graph& graph, Given arguments) {
  expect_count(arguments, 1, 1);
  return outcome(graph, match_as_slice(graph, node_at(arguments, 0, "a state")), as_slice);
}

Outcome apply_as_rooted(const Graph& graph, Given arguments) {
  expect_count(arguments, 1, 1);
  return outcome(graph, match_as_rooted(graph, node_at(arguments, 0, "a state")), as_rooted);
}

Outcome apply_dead(const Graph& graph, Given arguments) {
  expect_count(arguments, 1, 1);
  return outcome(graph, match_dead(graph, node_at(arguments, 0, "a gather")), dead);
}

Outcome apply_fuse(const Graph& graph, Given arguments) {
  expect_count(arguments, 1, 1000);
  std::vector<std::vector<NodeId>> parts;
  for (const ResolvedArgument& argument : arguments) {
    for (std::vector<NodeId>& part : node_lists(argument, "what is fused")) {
      if (!part.empty()) parts.push_back(std::move(part));
    }
  }
  const auto verdict = match_fuse(graph, parts);
  if (const Refusal* refusal = std::get_if<Refusal>(&verdict)) return *refusal;
  return fuse(graph, std::get<FuseMatch>(verdict));
}

Outcome apply_overlap(const Graph& graph, Given arguments) {
  expect_count(arguments, 2, 1000);
  std::vector<OverlapMember> members;
  for (const ResolvedArgument& argument : arguments) {
    const NamedHandle* named = std::get_if<NamedHandle>(&argument);
    if (!named) wrong("overlap takes operations and groups by name");
    if (named->handle.group.valid()) {
      members.push_back({{}, named->handle.group});
    } else if (named->handle.body && named->handle.nodes.size() > 1) {
      wrong("`" + named->name + "` is a body of several operations; fuse it first");
    } else {
      members.push_back({node_of(*named), {}});
    }
  }
  const auto verdict = match_overlap(graph, members);
  if (const Refusal* refusal = std::get_if<Refusal>(&verdict)) return *refusal;
  return overlap(graph, std::get<OverlapMatch>(verdict));
}

// `apply`, with wrong arguments as refusals.
template <Outcome (*apply)(const Graph&, Given)>
Outcome checked(const Graph& graph, Given arguments) {
  try {
    return apply(graph, arguments);
  } catch (const Wrong& wrong) {
    return wrong.refusal;
  }
}

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {
      {"split",
       "split(all_reduce [, slice] [, rs_ag | reduce_broadcast | hierarchical])",
       "the parts in order, as rs, ag; of hierarchical rs, ar, ag",
       {"rs_ag", "reduce_broadcast", "hierarchical"},
       checked<apply_split>},
      {"distribute",
       "distribute(value [, slice] [, axis ...])",
       "the shard and the all_gather",
       {},
       checked<apply_distribute>},
      {"reorder",
       "reorder(gather or [gathers], [operations])",
       "the body, then one gather for each value still needed whole",
       {},
       checked<apply_reorder>},
      {"as_slice", "as_slice(state)", "nothing", {}, checked<apply_as_slice>},
      {"as_rooted", "as_rooted(state)", "nothing", {}, checked<apply_as_rooted>},
      {"dead", "dead(gather)", "nothing", {}, checked<apply_dead>},
      {"fuse", "fuse(part, ...)", "the fused group", {}, checked<apply_fuse>},
      {"overlap",
       "overlap(producer, ..., consumer)",
       "the overlapped group",
       {},
       checked<apply_overlap>}};
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  const auto at = std::ranges::find(verbs(), name, &Verb::name);
  return at == verbs().end() ? nullptr : &*at;
}

}  // namespace coconet
