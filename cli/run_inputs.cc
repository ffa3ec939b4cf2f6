#include "cli/run_inputs.h"

#include <algorithm>
#include <cmath>

#include "coconet/base/error.h"
#include "coconet/base/nearest.h"
#include "coconet/graph/literal.h"
#include "coconet/io/safetensors.h"
#include "coconet/io/tensor_spec.h"
#include "coconet/plan/bind.h"

namespace coconet::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw UserError(ErrorKind::usage, message); }

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<Input>(node.op)) out.push_back(node.name);
  }
  return out;
}

const Input& input_of(const Graph& graph, const std::string& name, const std::string& option) {
  const NodeId id = graph.find(name);
  const Input* input = id.valid() ? std::get_if<Input>(&graph.node(id).op) : nullptr;
  if (input) return *input;
  const std::vector<std::string> names = input_names(graph);
  refuse(option + ": the program has no input " + name + suggestion(name, names) +
         "; its inputs are " + listed(names));
}

// One `x=FILE...`.
TensorData read_named(const std::string& name, const std::string& file, const Input& input) {
  TensorSpec spec;
  try {
    spec = parse_tensor_spec(file);
  } catch (const UserError& error) {
    const std::string scalar = input.kind == InputKind::scalar
                                   ? "; a number is given by --scalar " + name + "=NUMBER"
                                   : "";
    refuse("--in " + name + "=" + file + ": " + error.message() + scalar);
  }
  try {
    return read_tensor(spec, name);
  } catch (const UserError& error) {
    throw UserError(error.kind(), "--in " + name + "=" + file + ": " + error.message());
  }
}

// What the whole file `path` gives of the program's inputs.
execute::GlobalTensors read_whole(const std::string& path, const Graph& graph) {
  if (!path.ends_with(".safetensors")) {
    refuse("--in " + path +
           (path.ends_with(".npy")
                ? ": a .npy file holds one tensor; say of which input, as x=" + path
                : ": needed is NAME=FILE.npy, NAME=FILE.safetensors:TENSOR or a "
                  "whole FILE.safetensors"));
  }
  const SafetensorsFile file(path);
  execute::GlobalTensors out;
  for (const std::string& name : input_names(graph)) {
    if (file.has(name)) out[name] = file.read(name);
  }
  if (!out.empty()) return out;
  std::vector<std::string> held;
  for (const SafetensorsEntry& entry : file.entries()) held.push_back(entry.name);
  throw UserError(ErrorKind::data,
                  "--in " + path + ": the file has no input of the program; it holds " +
                      listed(held) + ", the inputs are " + listed(input_names(graph)) +
                      "; one of another name is given by NAME=" + path + ":TENSOR");
}

// A scalar's value as typed.
TensorData scalar_of(DTypeKind kind, const std::string& text, const std::string& what) {
  TensorData out = TensorData::zeros(kind, {});
  if (kind == DTypeKind::boolean && (text == "true" || text == "false")) {
    out.set_integer(0, text == "true");
    return out;
  }
  try {
    if (is_floating(kind) || text.find_first_of(".eE") != std::string::npos) {
      const double value = number_of(text, what);
      const std::string needed =
          std::isfinite(value) && is_floating(kind) ? needed_by(kind, value) : "";
      if (!needed.empty()) {
        refuse(what + ": " + std::string(name_of(kind)) + " takes " + needed + "; found " + text);
      }
      out.set_value(0, value);
    } else {
      out.set_integer(0, integer_of(text, what));
    }
  } catch (const UserError& error) {
    if (error.message().starts_with(what)) throw;
    refuse(what + ": " + error.message());
  }
  return out;
}

}  // namespace

MeshSizes mesh_of(const RunArguments& arguments, const Mesh& mesh) {
  if (arguments.ranks && !arguments.mesh.empty()) refuse("give --ranks or --mesh, not both");
  MeshSizes out{std::vector<int>(mesh.size(), 0)};
  const auto size_of = [](std::int64_t size, const std::string& what) {
    if (size < 1 || size > plan::kMaxRanks) {
      refuse(what + " must be from 1 to " + std::to_string(plan::kMaxRanks) + "; found " +
             std::to_string(size));
    }
    return static_cast<int>(size);
  };
  if (arguments.mesh.empty()) {
    if (mesh.size() != 1) {
      refuse("mesh " + mesh.text() + " has " + std::to_string(mesh.size()) +
             " axes; give the size of each with --mesh");
    }
    if (!arguments.ranks) refuse("give the number of ranks with --ranks");
    out.sizes[0] = size_of(*arguments.ranks, "--ranks");
    return out;
  }
  for (const auto& [name, value] : pairs_of(arguments.mesh, "--mesh")) {
    const auto axis = mesh.axis(name);
    if (!axis) {
      refuse("--mesh: there is no axis " + name + suggestion(name, mesh.axes) + "; the mesh is " +
             mesh.text());
    }
    out.sizes[*axis] = size_of(integer_of(value, "--mesh " + name), "--mesh " + name);
  }
  for (int axis = 0; axis < mesh.size(); ++axis) {
    if (out.sizes[axis] < 1) refuse("--mesh must give axis " + mesh.axes[axis] + " a size");
  }
  std::int64_t ranks = 1;
  for (int size : out.sizes) ranks = std::min<std::int64_t>(ranks * size, plan::kMaxRanks + 1);
  size_of(ranks, "the number of ranks of --mesh");
  return out;
}

execute::GlobalTensors read_inputs(const RunArguments& arguments, const Graph& graph,
                                   execute::InputFiles& files) {
  execute::GlobalTensors named, whole;
  std::map<std::string, std::string> file_of;  // by the name of an input of `whole`
  for (const std::string& text : arguments.inputs) {
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      const std::string name = text.substr(0, equals);
      const Input& input = input_of(graph, name, "--in " + text);
      if (named.contains(name)) refuse("--in gives " + name + " twice");
      named[name] = read_named(name, text.substr(equals + 1), input);
      files[name] = text.substr(equals + 1);
      continue;
    }
    for (auto& [name, tensor] : read_whole(text, graph)) {
      const auto [at, fresh] = file_of.try_emplace(name, text);
      if (!fresh) {
        refuse("--in: " + name + " stands in " + at->second + " and in " + text +
               "; say which is meant by --in " + name + "=FILE");
      }
      whole[name] = std::move(tensor);
      if (!named.contains(name)) files[name] = text;
    }
  }
  named.merge(whole);
  return named;
}

void read_scalars(const RunArguments& arguments, const Graph& graph,
                  execute::GlobalTensors& given) {
  for (const auto& [name, value] : pairs_of(arguments.scalars, "--scalar")) {
    const Input& input = input_of(graph, name, "--scalar " + name);
    if (input.kind != InputKind::scalar) {
      refuse("--scalar " + name + ": " + name + " is " + input.type.text(graph.mesh()) +
             ", not a scalar; give it with --in");
    }
    given[name] = scalar_of(input.type.dtype.kind, value, "--scalar " + name);
  }
}

Sizes sizes_of(const RunArguments& arguments, const Graph& graph) {
  const std::vector<std::string>& dims = graph.header().dims;
  Sizes out;
  for (const auto& [name, value] : pairs_of(arguments.dims, "--dim")) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) {
      refuse("--dim: there is no dim " + name + suggestion(name, dims) + "; the program has " +
             listed(dims));
    }
    out[name] = integer_of(value, "--dim " + name);
    if (out[name] < 0) {
      refuse("--dim " + name + " must not be negative; found " + std::to_string(out[name]));
    }
  }
  return out;
}

}  // namespace coconet::cli
