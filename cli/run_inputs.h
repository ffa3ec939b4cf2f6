// What a run gets: the mesh's sizes, the inputs from files, scalars and dims from the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "coconet/execute/inputs.h"
#include "coconet/graph/graph.h"

namespace coconet::cli {

// UserError(usage) unless --ranks or --mesh gives every axis a size.
MeshSizes mesh_of(const RunArguments& arguments, const Mesh& mesh);

// A whole .safetensors file gives what the program has of it; `x=FILE...` gives x, whatever whole
// files hold. UserError if a name stands in two whole files or is given twice, or a whole file has
// no input of the program.
// `files`: which --in gave each.
execute::GlobalTensors read_inputs(const RunArguments& arguments, const Graph& graph,
                                   execute::InputFiles& files);

// Adds the scalars typed as numbers, which go before those of files.
void read_scalars(const RunArguments& arguments, const Graph& graph, execute::GlobalTensors& given);

// The --dim options. UserError(usage) for a name that the program has not, or a negative size.
Sizes sizes_of(const RunArguments& arguments, const Graph& graph);

}  // namespace coconet::cli
