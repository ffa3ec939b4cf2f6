// The verbs of steps: what each takes and returns, and how its arguments become a rewrite.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coconet/schedule/apply.h"

namespace coconet {

// An argument of a step, resolved: what a name stands for, a list of those, a slice, or a word that
// is no handle (a kind of split, a mesh axis).
struct NamedHandle {
  std::string name;
  Handle handle;
};
struct Word {
  std::string text;
};
using ResolvedArgument = std::variant<NamedHandle, std::vector<NamedHandle>, Slice, Word>;

// Either the rewrite or why there is none.
using Outcome = std::variant<Rewrite, Refusal>;

struct Verb {
  std::string_view name;
  std::string_view form;                // "split(all_reduce [, slice | ...])"
  std::string_view returns;             // "the reduce_scatter and the all_gather", or "nothing"
  std::vector<std::string_view> words;  // that an argument may be instead of a handle
  Outcome (*apply)(const Graph& graph, std::span<const ResolvedArgument> arguments);
};

const std::vector<Verb>& verbs();
// Nothing if there is no such verb.
const Verb* find_verb(std::string_view name);

}  // namespace coconet
