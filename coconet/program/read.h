// A syntax tree to graphs: names, types and dtypes get their meaning.
#pragma once

#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/program/syntax.h"

namespace coconet {

// The programs of one file.
struct Programs {
  std::vector<Graph> graphs;
  // Of all programs, those with errors too, so that a schedule for one is no second error.
  std::vector<std::string> names;
};

// Reads all items; every error goes to `errors`, and what depends on what failed is passed over in
// silence.
Programs read_programs(const syntax::Tree& tree, const std::string& file, ErrorList& errors);

}  // namespace coconet
