#include "cli/run_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "coconet/base/error.h"
#include "coconet/base/nearest.h"
#include "coconet/execute/lists.h"
#include "coconet/graph/literal.h"
#include "coconet/graph/walk.h"
#include "coconet/io/safetensors.h"
#include "coconet/io/tensor_spec.h"
#include "coconet/plan/bind.h"
#include "coconet/type/list.h"

namespace coconet::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw UserError(ErrorKind::usage, message); }

const Input& input_of(const Graph& graph, const std::string& name, const std::string& option) {
  if (const Input* input = input_named(graph, name)) return *input;
  const std::string list = name.substr(0, name.find('.'));
  const Input* whole = input_named(graph, list);
  if (whole && whole->type.is_list() && execute::is_member(list, name)) {
    refuse(option + ": " + list + " is a list, whose members are given together; legal: " + list +
           "=FILE.safetensors:PREFIX");
  }
  refuse(option + ": " + no_input(graph, name));
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
    refuse(error.message() + scalar);
  }
  return read_tensor(spec, name);
}

bool is_number(const std::string& text) {
  return text.find_first_not_of("+-0123456789") == std::string::npos;
}

// "N_i=5,1027,B=8" is N_i=5,1027 and B=8: numbers alone belong to the dim before, of one --dim.
std::vector<std::string> dims_typed(const std::vector<std::string>& options) {
  std::vector<std::string> out;
  for (const std::string& option : options) {
    const std::size_t first = out.size();
    for (std::size_t begin = 0; begin <= option.size();) {
      const std::size_t comma = std::min(option.find(',', begin), option.size());
      const std::string part = option.substr(begin, comma - begin);
      if (out.size() > first && is_number(part)) {
        out.back() += "," + part;
      } else {
        out.push_back(part);
      }
      begin = comma + 1;
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> sizes_typed(const RunArguments& arguments) {
  return pairs_of(dims_typed(arguments.dims), "--dim", true);
}

// --dim gives lists over the index of `list` no members.
bool has_no_members(const RunArguments& arguments, const Input& list) {
  const std::string index = list_index(list.type.shape[0]);
  return std::ranges::any_of(sizes_typed(arguments), [&](const auto& dim) {
    return dim.second.empty() && list_index(dim.first) == index;
  });
}

// The tensors PREFIX.0, PREFIX.1, ... as the members of a list; of each those rows.
void read_members(const SafetensorsFile& file, const std::string& prefix, const std::string& list,
                  const std::optional<RowRange>& rows, execute::GlobalTensors& out) {
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!execute::is_member(prefix, entry.name)) continue;
    out[list + entry.name.substr(prefix.size())] =
        read_tensor({file.path(), entry.name, rows}, entry.name);
  }
}

// One `g=FILE.safetensors:PREFIX` of a list; `empty`: of one that has no members.
void read_list(const std::string& name, const std::string& text, bool empty,
               execute::GlobalTensors& out) {
  const TensorSpec spec = parse_tensor_spec(text);
  const std::string prefix = spec.name.value_or(name);
  const std::string start = name + " is a list, ";
  if (!spec.path.ends_with(".safetensors")) {
    refuse(start + "the tensors PREFIX.0, PREFIX.1, ... of a .safetensors file; legal: " + name +
           "=FILE.safetensors:PREFIX");
  }
  const SafetensorsFile file(spec.path);
  const std::size_t before = out.size();
  read_members(file, prefix, name, spec.rows, out);
  if (out.size() > before || empty) return;
  throw UserError(ErrorKind::data,
                  start + "but the file has no " + prefix + ".0; " + file.holds() +
                      " (a list of no members is --dim N_i=, with nothing behind the =)");
}

// What the whole file `path` gives of the program's inputs.
execute::GlobalTensors read_whole(const std::string& path, const RunArguments& arguments,
                                  const Graph& graph) {
  if (!path.ends_with(".safetensors")) {
    refuse(path + (path.ends_with(".npy")
                       ? ": a .npy file holds one tensor; say of which input, as x=" + path
                       : ": needed is NAME=FILE.npy, NAME=FILE.safetensors:TENSOR or a "
                         "whole FILE.safetensors"));
  }
  const SafetensorsFile file(path);
  execute::GlobalTensors out;
  bool empty = false;  // it may be of a list that has no members
  for (const std::string& name : input_names(graph)) {
    const Input& input = std::get<Input>(graph.node(graph.find(name)).op);
    const bool list = input.type.is_list();
    if (list) read_members(file, name, name, {}, out);
    empty = empty || (list && has_no_members(arguments, input));
    if (!list && file.has(name)) out[name] = file.read(name);
  }
  if (!out.empty() || empty) return out;
  throw UserError(ErrorKind::data,
                  path + ": the file has no input of the program; " + file.holds() +
                      "; the inputs are " + listed(input_names(graph)) +
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
  for (int size : out.sizes) {
    if (__builtin_mul_overflow(ranks, size, &ranks))
      ranks = std::numeric_limits<std::int64_t>::max();
  }
  size_of(ranks, "the number of ranks of --mesh");
  return out;
}

execute::GlobalTensors read_inputs(const RunArguments& arguments, const Graph& graph,
                                   execute::InputFiles& files) {
  execute::GlobalTensors named, whole;
  std::set<std::string> given;                 // inputs by name
  std::map<std::string, std::string> file_of;  // by the name of an input of `whole`
  for (const std::string& text : arguments.inputs) {
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      const std::string name = text.substr(0, equals);
      const Input& input = input_of(graph, name, "--in " + text);
      if (!given.insert(name).second) refuse("--in gives " + name + " twice");
      with_option("--in " + name, [&] {
        if (input.type.is_list()) {
          return read_list(name, text.substr(equals + 1), has_no_members(arguments, input), named);
        }
        named[name] = read_named(name, text.substr(equals + 1), input);
      });
      files[name] = text.substr(equals + 1);
      continue;
    }
    execute::GlobalTensors held;
    with_option("--in", [&] { held = read_whole(text, arguments, graph); });
    for (auto& [name, tensor] : held) {
      const auto [at, fresh] = file_of.try_emplace(name, text);
      if (!fresh) {
        refuse("--in: " + name + " stands in " + at->second + " and in " + text +
               "; say which is meant by --in " + name + "=FILE");
      }
      whole[name] = std::move(tensor);
      const std::string input = name.substr(0, name.find('.'));
      if (!given.contains(input)) files[input] = text;
    }
  }
  std::erase_if(whole, [&](const auto& tensor) {
    return given.contains(tensor.first.substr(0, tensor.first.find('.')));
  });
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

namespace {

std::vector<std::int64_t> numbers_of(const std::string& text, const std::string& what) {
  std::vector<std::int64_t> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    out.push_back(integer_of(text.substr(begin, comma - begin), what));
    if (out.back() < 0) {
      refuse(what + " must not be negative; found " + std::to_string(out.back()));
    }
    begin = comma + 1;
  }
  return out;
}

}  // namespace

Sizes sizes_of(const RunArguments& arguments, const Graph& graph) {
  const std::vector<std::string>& dims = graph.header().dims;
  const std::set<std::string> lists = list_dims(graph);
  Sizes out;
  for (const auto& [name, value] : sizes_typed(arguments)) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) {
      refuse("--dim: there is no dim " + name + suggestion(name, dims) + "; the program has " +
             listed(dims));
    }
    std::vector<std::int64_t> sizes;
    if (!value.empty()) sizes = numbers_of(value, "--dim " + name);
    if (lists.contains(name)) {
      out.lists[name] = sizes;
    } else if (sizes.size() == 1) {
      out[name] = sizes[0];
    } else {
      refuse("--dim " + name + " takes one size, as " + name + " is no dim of a list; found " +
             (value.empty() ? "none" : value));
    }
  }
  return out;
}

}  // namespace coconet::cli
