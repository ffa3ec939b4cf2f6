#include "coconet/schedule/apply.h"

#include <algorithm>

#include "coconet/base/nearest.h"
#include "coconet/schedule/rebuild.h"
#include "coconet/schedule/region.h"
#include "coconet/schedule/verbs.h"

namespace coconet {
namespace {

[[noreturn]] void refuse(const Step& step, const std::string& reason) {
  Step call = step;
  call.results.clear();
  throw UserError(ErrorKind::schedule, text_of(call) + ": " + reason, step.where);
}

// Every name that may stand in a step now.
std::vector<std::string> known_names(const Applied& applied) {
  std::vector<std::string> names;
  for (const auto& [name, handle] : applied.handles) {
    if (handle.gone.empty()) names.push_back(name);
  }
  for (const Node& node : applied.graph.nodes()) {
    if (!node.name.empty() && !applied.handles.contains(node.name)) names.push_back(node.name);
  }
  for (const Group& group : applied.graph.groups()) {
    if (!applied.handles.contains(group.name)) names.push_back(group.name);
  }
  return names;
}

NamedHandle resolve(const Applied& applied, const Step& step, const std::string& name) {
  const auto handle = applied.handles.find(name);
  if (handle != applied.handles.end()) {
    if (!handle->second.gone.empty()) refuse(step, handle->second.gone);
    return {name, handle->second};
  }
  const NodeId node = applied.graph.find(name);
  if (node.valid()) return {name, {{node}, {}, false, ""}};
  const GroupId group = applied.graph.find_group(name);
  if (group.valid()) return {name, {{}, group, false, ""}};
  refuse(step, "no value is called `" + name + "`" + suggestion(name, known_names(applied)));
}

bool is_value(const Applied& applied, const std::string& name) {
  return applied.handles.contains(name) || applied.graph.find(name).valid() ||
         applied.graph.find_group(name).valid();
}

// What is no value behind the first argument was meant as a word of the verb.
void need_word(const Applied& applied, const Step& step, const Verb& verb,
               const std::string& name) {
  std::vector<std::string> words(verb.words.begin(), verb.words.end());
  if (verb.name == "distribute") words = applied.graph.mesh().axes;
  if (words.empty() || is_value(applied, name)) return;
  refuse(step, "`" + name + "` is no word of " + std::string(verb.name) + suggestion(name, words) +
                   "; what follows the value is a slice, as (0) or (*), or " +
                   (verb.name == "distribute" ? "a mesh axis: " : "one of ") + listed(words) +
                   "; its form is " + std::string(verb.form));
}

bool is_word(const Applied& applied, const Verb& verb, const std::string& name) {
  return std::ranges::count(verb.words, name) > 0 ||
         (verb.name == "distribute" && applied.graph.mesh().axis(name).has_value());
}

std::vector<ResolvedArgument> resolve(const Applied& applied, const Step& step, const Verb& verb) {
  std::vector<ResolvedArgument> out;
  for (const StepArgument& argument : step.arguments) {
    if (const std::string* name = std::get_if<std::string>(&argument)) {
      if (is_word(applied, verb, *name) && !out.empty()) {
        out.push_back(Word{*name});
      } else {
        if (!out.empty()) need_word(applied, step, verb, *name);
        out.push_back(resolve(applied, step, *name));
      }
    } else if (const Slice* slice = std::get_if<Slice>(&argument)) {
      out.push_back(*slice);
    } else {
      auto& list = out.emplace_back().emplace<std::vector<NamedHandle>>();
      for (const std::string& name : std::get<std::vector<std::string>>(argument)) {
        list.push_back(resolve(applied, step, name));
      }
    }
  }
  return out;
}

const Verb& verb_of(const Step& step) {
  if (const Verb* verb = find_verb(step.verb)) return *verb;
  std::string list;
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    names.push_back(std::string(verb.name));
    list += (list.empty() ? "" : ", ") + names.back();
  }
  refuse(step, "there is no step `" + step.verb + "`" + suggestion(step.verb, names) +
                   "; the steps are " + list);
}

// "`total_rs`, `total_ag`": what the step returned.
std::string results_text(const Rewrite& rewrite) {
  std::string out;
  for (const Rewrite::Result& result : rewrite.results) {
    if (!out.empty()) out += ", ";
    if (result.body) {
      out += "the body";
    } else if (result.group.valid()) {
      out += "the group `" + rewrite.graph.group(result.group).name + "`";
    } else {
      out += quoted(rewrite.graph, result.nodes[0]);
    }
  }
  return out;
}

bool is_declared(const Header& header, const std::string& name) {
  const auto named = [&](const DTypeParameter& dtype) { return dtype.name == name; };
  return std::ranges::count(header.dims, name) > 0 ||
         std::ranges::count(header.mesh.axes, name) > 0 ||
         std::ranges::any_of(header.dtypes, named);
}

void check_results(const Step& step, const Verb& verb, const Applied& before,
                   const Rewrite& rewrite) {
  const std::size_t count = rewrite.results.size();
  if (!step.results.empty() && step.results.size() != count) {
    const std::size_t found = step.results.size();
    refuse(step, "found " + std::to_string(found) +
                     (found == 1 ? " result name; " : " result names; ") + std::string(verb.name) +
                     " returns " + std::to_string(count) + ": " + std::string(verb.returns) +
                     (count > 0 ? ", here " + results_text(rewrite) : ""));
  }
  for (std::size_t k = 0; k < step.results.size(); ++k) {
    if (std::ranges::count(step.results, step.results[k]) > 1) {
      refuse(step, "the result name `" + step.results[k] + "` is given twice");
    }
    const auto old = before.handles.find(step.results[k]);
    const bool body = old != before.handles.end() && old->second.body && old->second.gone.empty();
    const bool taken =
        rewrite.results[k].body && (rewrite.graph.find(step.results[k]).valid() ||
                                    rewrite.graph.find_group(step.results[k]).valid());
    if (is_declared(before.graph.header(), step.results[k])) {
      refuse(step, "the result name `" + step.results[k] +
                       "` is taken by a dim, an axis or a dtype parameter; give it another");
    }
    if (body || taken) {
      refuse(step, "the result name `" + step.results[k] + "` is taken; give it another");
    }
  }
}

Rewrite with_names(const Step& step, const Rewrite& rewrite) {
  Renaming renaming;
  for (std::size_t k = 0; k < step.results.size(); ++k) {
    const Rewrite::Result& result = rewrite.results[k];
    if (result.group.valid()) renaming.groups.emplace_back(result.group, step.results[k]);
    if (!result.body && !result.group.valid()) {
      renaming.nodes.emplace_back(result.nodes[0], step.results[k]);
    }
  }
  if (renaming.nodes.empty() && renaming.groups.empty()) return rewrite;
  try {
    return rename(rewrite, renaming);
  } catch (const UserError& error) {
    refuse(step, error.message());
  }
}

// Which values have another name now than the step says, of those that `reason` is about.
std::string renamed_text(const Applied& applied, const Step& step, const std::string& reason) {
  std::string out;
  for (const StepArgument& argument : step.arguments) {
    const std::string* name = std::get_if<std::string>(&argument);
    const auto handle = name ? applied.handles.find(*name) : applied.handles.end();
    if (handle == applied.handles.end() || handle->second.nodes.size() != 1) continue;
    const std::string now = quoted(applied.graph, handle->second.nodes[0]);
    if (now == "`" + *name + "`" || reason.find(now) == std::string::npos) continue;
    out += "; `" + *name + "` is " + now + " now";
  }
  return out;
}

// Under names of its own.
Rewrite rewrite_of(const Applied& before, const Step& step) {
  const Verb& verb = verb_of(step);
  const std::vector<ResolvedArgument> arguments = resolve(before, step, verb);
  Outcome outcome = verb.apply(before.graph, arguments);
  if (const Refusal* refusal = std::get_if<Refusal>(&outcome)) {
    // Without a blocking operation it is the arguments that are wrong.
    const bool arguments_wrong = !refusal->blocked_by.valid();
    refuse(step, refusal->reason + renamed_text(before, step, refusal->reason) +
                     (arguments_wrong ? "; its form is " + std::string(verb.form) : ""));
  }
  Rewrite& rewrite = std::get<Rewrite>(outcome);
  check_results(step, verb, before, rewrite);
  return std::move(rewrite);
}

// Why a handle that the step left without a value is gone.
std::string why_gone(const Applied& before, const Step& step, const Rewrite& rewrite,
                     const std::string& name, NodeId old) {
  const std::string call = "`" + text_of(step) + "`";
  if (is_communication(before.graph.node(old).op)) {
    return "`" + name + "` is gone: nobody reads it since " + call;
  }
  std::string reason = "`" + name + "` is gone: " + call + " moved it to the slices";
  const std::string moved = before.graph.node(old).name + "'";
  if (rewrite.graph.find(moved).valid()) reason += ", where it is `" + moved + "`";
  return reason;
}

Handle forwarded(const Applied& before, const Step& step, const Rewrite& rewrite,
                 const std::string& name, const Handle& handle) {
  Handle now = handle;
  if (!handle.gone.empty()) return now;
  if (handle.group.valid()) {
    now.group = rewrite.forward_groups.at(handle.group.index);
    return now;
  }
  now.nodes.clear();
  for (NodeId id : handle.nodes) {
    const NodeId to = rewrite.forward.at(id.index);
    const bool gone = !to.valid() || (handle.body && op_as<Input>(rewrite.graph, to));
    if (!gone && std::ranges::count(now.nodes, to) == 0) now.nodes.push_back(to);
  }
  if (now.nodes.empty()) {
    now.gone = handle.nodes.empty() ? "`" + name + "` is empty"
                                    : why_gone(before, step, rewrite, name, handle.nodes[0]);
  }
  return now;
}

}  // namespace

Applied start(const Graph& graph) {
  Applied out{graph, {}, Exactness::exact};
  for (int i = 0; i < graph.size(); ++i) {
    const std::string& name = graph.node({i}).name;
    if (!name.empty()) out.handles[name] = Handle{{NodeId{i}}, {}, false, ""};
  }
  for (const Output& output : graph.outputs()) {
    out.handles.try_emplace(output.name, Handle{{output.node}, {}, false, ""});
  }
  for (int g = 0; g < static_cast<int>(graph.groups().size()); ++g) {
    out.handles[graph.group({g}).name] = Handle{{}, GroupId{g}, false, ""};
  }
  return out;
}

Applied apply(const Applied& before, const Step& step) {
  const Rewrite rewrite = with_names(step, rewrite_of(before, step));
  Applied after{rewrite.graph, {}, std::max(before.exactness, rewrite.exactness)};
  for (const auto& [name, handle] : before.handles) {
    after.handles[name] = forwarded(before, step, rewrite, name, handle);
  }
  for (std::size_t k = 0; k < step.results.size(); ++k) {
    const Rewrite::Result& result = rewrite.results[k];
    after.handles[step.results[k]] = Handle{result.nodes, result.group, result.body, ""};
  }
  return after;
}

Exactness exactness_of(const Applied& before, const Step& step) {
  return rewrite_of(before, step).exactness;
}

Applied apply(const Graph& graph, const Schedule& schedule) {
  Applied applied = start(graph);
  for (std::size_t k = 0; k < schedule.steps.size(); ++k) {
    try {
      applied = apply(applied, schedule.steps[k]);
    } catch (const UserError& error) {
      throw UserError(error.kind(), "step " + std::to_string(k + 1) + ", " + error.message(),
                      error.where());
    }
  }
  return applied;
}

std::string result_name(const Applied& applied, const std::string& wanted,
                        const std::vector<std::string>& others) {
  const Graph& graph = applied.graph;
  const auto taken = [&](const std::string& name) {
    const auto output = [&](const Output& output) { return output.name == name; };
    return applied.handles.contains(name) || graph.find(name).valid() ||
           graph.find_group(name).valid() || std::ranges::count(others, name) > 0 ||
           std::ranges::any_of(graph.outputs(), output);
  };
  std::string out = wanted;
  for (int number = 2; taken(out); ++number) out = wanted + std::to_string(number);
  return out;
}

}  // namespace coconet
