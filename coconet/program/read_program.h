// One program of the text form to its graph.
#pragma once

#include <optional>

#include "coconet/program/scope.h"

namespace coconet {

// None if there was an error; all of them are in `errors`. A statement that fails leaves its name
// poisoned, so that nothing is said of what uses it.
std::optional<Graph> read_program(const syntax::Tree& tree, const TypeReader& types,
                                  const syntax::Program& program, ErrorList& errors);

}  // namespace coconet
