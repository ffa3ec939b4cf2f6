// `require` of a file: a condition on sizes.
#pragma once

#include <set>
#include <string>

#include "coconet/graph/requirement.h"
#include "coconet/program/scope.h"

namespace coconet {

// UserError at the place in the text, or Poisoned.
Requirement read_require(const syntax::Tree& tree, const TypeReader& types, syntax::ExprId id);

// The names in an expression that may be those of dims: its own and those of the user functions
// that it calls.
void collect_names(const syntax::Tree& tree, const Declarations& declarations, syntax::ExprId id,
                   std::set<std::string>* names);

}  // namespace coconet
