// A syntax tree to graphs: names, types and dtypes get their meaning.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/program/syntax.h"

namespace coconet {

struct ReadOptions {
  // Of dtype parameters, instead of their defaults (`--dtype T=f32`). Names that the file does not
  // declare are passed over.
  std::map<std::string, DTypeKind> dtypes = {};
  std::string only = {};  // the one program that is read; "": all
};

// The programs of one file.
struct Programs {
  std::vector<Graph> graphs;
  std::vector<std::string> dtypes;  // the parameters declared
  // Of all programs, those with errors too, so that a schedule for one is no second error.
  std::vector<std::string> names;
};

// Reads all items; every error goes to `errors`, and what depends on what failed is passed over in
// silence.
Programs read_programs(const syntax::Tree& tree, const std::string& file,
                       const ReadOptions& options, ErrorList& errors);

}  // namespace coconet
