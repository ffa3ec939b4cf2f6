// The inputs of a run: from files, from the command line, drawn from the seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/interpreter.h"
#include "coconet/io/tensor_data.h"

namespace coconet::execute {

// Global tensors by input name, as files hold them: a local or partial axis has a leading dim of
// its size, in mesh order (io/distribute.h). The members of a list g are g.0, g.1, ...
using GlobalTensors = std::map<std::string, TensorData>;

// By the name of a given input: where its value is from, for messages.
using InputFiles = std::map<std::string, std::string>;

// The dtype parameters as the given tensors and `wanted` bind them. UserError(data) if two
// disagree, or a tensor's dtype is not the one declared.
std::map<std::string, DTypeKind> bind_dtypes(const Graph& graph, const GlobalTensors& given,
                                             const std::map<std::string, DTypeKind>& wanted,
                                             const InputFiles& files = {});

// The sizes of the dims (of a list's dim, one for each member): `wanted`, and what the shapes of
// the given tensors say. UserError(data) that names tensor, dim, found and needed if they disagree,
// a dim has no size, or a tensor is of no input; UserError(usage) for sizes of another mesh.
Sizes bind_dims(const Graph& graph, const GlobalTensors& given, const MeshSizes& mesh,
                const Sizes& wanted, const InputFiles& files = {});

// UserError(data), as of bind_dtypes and bind_dims, unless `given` are tensors of inputs of this
// graph, of the dtypes and the shapes that they have under `setting`, which has every dim's size.
// A rate of a dropout is from 0 to 1. draw_missing and distribute begin with it.
void check_given(const Graph& graph, const GlobalTensors& given, const interp::Setting& setting);

// Draws every tensor and state that is not given, and returns their names: uniform in [-1, 1)
// (states in [0, 1), integers 0..9) by seed, name and element index, so alike for any rank count.
// Scalars with a default get it. UserError(data) for a scalar with neither value nor default.
std::vector<std::string> draw_missing(const Graph& graph, const interp::Setting& setting,
                                      GlobalTensors& given);
// Scalars that have no value and no default get 1, or true: for tuning, as what is measured hardly
// depends on them.
void give_ones(const Graph& graph, GlobalTensors& given);
// What draw_missing draws; what no memory holds is some number beyond all memory.
std::uint64_t bytes_to_draw(const Graph& graph, const interp::Setting& setting,
                            const GlobalTensors& given);

// Each rank's piece of every input, by the layouts of `graph` (a schedule may have changed those of
// states). Inputs that are not given have none: execute::run knows the defaults of scalars and
// refuses the others, run_on_ranks begins with zeros.
std::map<std::string, interp::Pieces> distribute(const Graph& graph, const GlobalTensors& given,
                                                 const interp::Setting& setting);
std::uint64_t bytes_of_pieces(const Graph& graph, const interp::Setting& setting);

// The global tensor of a value of this type, as a file would hold it; of a list, of each member.
// UserError for pieces of other sizes, and for a list in place of a tensor or the other way.
TensorData gather(const TensorType& type, const interp::Pieces& pieces,
                  const interp::Setting& setting);
std::vector<TensorData> gather_members(const TensorType& type, const interp::Pieces& pieces,
                                       const interp::Setting& setting);

}  // namespace coconet::execute
