#include "coconet/execute/inputs.h"

#include <algorithm>

#include "coconet/interp/global_tensor.h"
#include "coconet/io/distribute.h"
#include "coconet/kernel/dropout.h"

namespace coconet::execute {
namespace {

template <class Visit>
void for_each_input(const Graph& graph, Visit&& visit) {
  for (const Node& node : graph.nodes()) {
    if (const Input* input = std::get_if<Input>(&node.op)) visit(node.name, *input);
  }
}

[[noreturn]] void refuse(const std::string& message) { throw UserError(ErrorKind::data, message); }

// The axes of which a file holds an entry for each rank.
AxisList leading_axes(const Layout& layout) {
  AxisList out;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (layout.is<Local>(axis) || layout.is<Partial>(axis)) out.push_back(axis);
  }
  return out;
}

std::string needed_shape(const TensorType& type, const Mesh& mesh) {
  std::string out = "[";
  for (int axis : leading_axes(type.layout)) out += "size(" + mesh.axes[axis] + "),";
  const std::string dims = text_of(type.shape).substr(1);
  if (dims == "]" && out.size() > 1) out.pop_back();
  return out + dims;
}

// What `needed_shape` is in numbers, or "" while a dim has no size.
std::string needed_sizes(const TensorType& type, const MeshSizes& mesh, const Sizes& sizes) {
  std::vector<std::int64_t> out;
  for (int axis : leading_axes(type.layout)) out.push_back(mesh.sizes[axis]);
  for (const Dim& dim : type.shape) {
    for (const std::string& name : dim.names()) {
      if (!sizes.contains(name)) return "";
    }
    out.push_back(dim.bind(sizes));
  }
  return out.empty() ? "" : ", here " + text_of_shape(out);
}

std::string from(const InputFiles& files, const std::string& name) {
  const auto file = files.find(name);
  return file == files.end() ? "" : "; it is from " + file->second;
}

// The one name of `dim` that has no size yet, if there is just one and it occurs once.
std::string only_unknown(const Dim& dim, const Sizes& sizes) {
  std::string unknown;
  for (const std::string& name : dim.names()) {
    if (sizes.contains(name)) continue;
    if (!unknown.empty()) return "";
    unknown = name;
  }
  return unknown;
}

struct DimUse {
  std::string tensor;
  int position;
  Dim dim;
  std::int64_t size;
};

// Learns the sizes of names from dims that have one unknown name left, until nothing more is
// learned.
void solve(std::vector<DimUse>& uses, Sizes& sizes) {
  for (bool learned = true; learned;) {
    learned = false;
    for (const DimUse& use : uses) {
      const std::string name = only_unknown(use.dim, sizes);
      if (name.empty()) continue;
      std::int64_t known = use.dim.coefficient();
      for (const std::string& other : use.dim.names()) {
        if (other != name) known = checked_product(known, sizes.at(other));
      }
      if (known == 0) continue;
      if (use.size % known != 0) {
        refuse("input " + use.tensor + ": dim " + std::to_string(use.position) + " is " +
               use.dim.text() + ", a multiple of " + std::to_string(known) + "; found " +
               std::to_string(use.size));
      }
      sizes[name] = use.size / known;
      learned = true;
    }
  }
}

}  // namespace

std::map<std::string, DTypeKind> bind_dtypes(const Graph& graph, const GlobalTensors& given,
                                             const std::map<std::string, DTypeKind>& wanted,
                                             const InputFiles& files) {
  std::map<std::string, DTypeKind> bound = wanted;
  std::map<std::string, std::string> by;
  for (const auto& [name, kind] : wanted) by[name] = "--dtype";
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    const auto tensor = given.find(name);
    if (tensor == given.end()) return;
    const DTypeKind found = tensor->second.dtype;
    const std::string& parameter = input.type.dtype.parameter;
    const DTypeKind* needed = &input.type.dtype.kind;
    if (!parameter.empty()) {
      const auto [at, fresh] = bound.try_emplace(parameter, found);
      if (fresh) by[parameter] = "input " + name;
      needed = &at->second;
    }
    if (found == *needed) return;
    const std::string why =
        parameter.empty() ? "" : " (" + parameter + ", by " + by[parameter] + ")";
    refuse("input " + name + " has dtype " + std::string(name_of(found)) + "; needed is " +
           std::string(name_of(*needed)) + why + from(files, name));
  });
  return bound;
}

Sizes bind_dims(const Graph& graph, const GlobalTensors& given, const MeshSizes& mesh,
                const Sizes& wanted, const InputFiles& files) {
  Sizes sizes = with_axes(wanted, graph.mesh(), mesh);
  const auto& dims = graph.header().dims;
  for (const auto& [name, size] : wanted) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) {
      std::string known;
      for (const std::string& dim : dims) known += (known.empty() ? "" : ", ") + dim;
      refuse("there is no dim " + name + "; the program has " + (known.empty() ? "none" : known));
    }
    if (size < 0) refuse("dim " + name + " must not be negative; found " + std::to_string(size));
  }
  std::vector<DimUse> uses;
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    const auto tensor = given.find(name);
    if (tensor == given.end()) return;
    const AxisList leading = leading_axes(input.type.layout);
    const auto& shape = tensor->second.shape;
    const std::string needed =
        needed_shape(input.type, graph.mesh()) + needed_sizes(input.type, mesh, wanted);
    if (shape.size() != leading.size() + input.type.shape.size()) {
      refuse("input " + name + " has shape " + text_of_shape(shape) + "; needed is " + needed +
             from(files, name));
    }
    for (std::size_t i = 0; i < leading.size(); ++i) {
      if (shape[i] == mesh.sizes[leading[i]]) continue;
      refuse("input " + name + " has shape " + text_of_shape(shape) + "; needed is " + needed +
             ", one entry for each of the " + std::to_string(mesh.sizes[leading[i]]) +
             " ranks of " + graph.mesh().axes[leading[i]] +
             " (a file with more can be cut: " + name +
             "=FILE:NAME[0:" + std::to_string(mesh.sizes[leading[i]]) + "])" + from(files, name));
    }
    for (std::size_t d = 0; d < input.type.shape.size(); ++d) {
      uses.push_back({name, static_cast<int>(d), input.type.shape[d], shape[leading.size() + d]});
    }
  });
  solve(uses, sizes);
  for (const DimUse& use : uses) {
    const std::int64_t needed = use.dim.bind(sizes);
    if (needed == use.size) continue;
    refuse("input " + use.tensor + ": dim " + std::to_string(use.position) + ", " + use.dim.text() +
           ", must be " + std::to_string(needed) + "; found " + std::to_string(use.size) +
           from(files, use.tensor));
  }
  for (const std::string& name : dims) Dim::named(name).bind(sizes);
  return sizes;
}

std::vector<std::string> draw_missing(const Graph& graph, const interp::Setting& setting,
                                      GlobalTensors& given) {
  std::vector<std::string> drawn;
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    if (given.contains(name)) return;
    const DTypeKind kind = input.type.dtype.kind;
    if (input.kind == InputKind::scalar) {
      if (!input.default_value) {
        refuse("scalar " + name + " has no value and no default; give --scalar " + name + "=VALUE");
      }
      TensorData scalar = TensorData::zeros(kind, {});
      scalar.set_value(0, *input.default_value);
      given[name] = std::move(scalar);
      return;
    }
    const auto sizes = bind(input.type.shape, setting.sizes);
    TensorData tensor = TensorData::zeros(kind, file_shape(sizes, input.type.layout, setting.mesh));
    std::uint64_t key = setting.seed;
    for (unsigned char c : name) key = kernel::mix(key ^ c);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::uint64_t word = kernel::mix(key ^ static_cast<std::uint64_t>(i));
      const double unit = static_cast<double>(word >> 11) * 0x1p-53;  // [0, 1)
      if (is_floating(kind)) {
        tensor.set_value(i, input.kind == InputKind::state ? unit : 2 * unit - 1);
      } else {
        tensor.set_integer(i,
                           static_cast<std::int64_t>(word % (kind == DTypeKind::boolean ? 2 : 10)));
      }
    }
    given[name] = std::move(tensor);
    drawn.push_back(name);
  });
  return drawn;
}

std::map<std::string, interp::Pieces> distribute(const Graph& graph, const GlobalTensors& given,
                                                 const interp::Setting& setting) {
  std::map<std::string, interp::Pieces> out;
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    const auto tensor = given.find(name);
    check(tensor != given.end(), "every input is given or drawn");
    out[name] = interp::scatter_global(input.type, setting, tensor->second.bytes);
  });
  return out;
}

TensorData gather(const TensorType& type, const interp::Pieces& pieces,
                  const interp::Setting& setting) {
  TensorData out;
  out.dtype = type.dtype.kind;
  out.shape = interp::global_sizes(type, setting);
  out.bytes = interp::assemble(type, setting, pieces);
  return out;
}

}  // namespace coconet::execute
