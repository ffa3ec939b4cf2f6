#include "coconet/execute/inputs.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "coconet/execute/lists.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/kernel/dropout.h"
#include "coconet/runtime/memory.h"
#include "coconet/type/piece.h"

namespace coconet::execute {
namespace {

template <class Visit>
void for_each_input(const Graph& graph, Visit&& visit) {
  for (const Node& node : graph.nodes()) {
    if (const Input* input = std::get_if<Input>(&node.op)) visit(node.name, *input);
  }
}

// Every given tensor: of a list, each member by its own name.
template <class Visit>
void for_each_given(const Graph& graph, const GlobalTensors& given, const Visit& visit) {
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    const bool list = input.type.is_list();
    for (std::int64_t k = 0;; ++k) {
      const std::string own = list ? member_name(name, k) : name;
      const auto tensor = given.find(own);
      if (tensor == given.end()) return;
      visit(own, input, tensor->second);
      if (!list) return;
    }
  });
}

[[noreturn]] void refuse(const std::string& message) { throw UserError(ErrorKind::data, message); }

std::string from(const InputFiles& files, const std::string& name) {
  const auto file = files.find(name);
  return file == files.end() ? "" : "; it is from " + file->second;
}

constexpr std::uint64_t kBeyond = std::numeric_limits<std::uint64_t>::max();

std::uint64_t bytes_of(const Input& input, const std::vector<std::int64_t>& shape) {
  const std::optional<std::int64_t> bytes = byte_count(input.type.dtype.kind, shape);
  return bytes ? static_cast<std::uint64_t>(*bytes) : kBeyond;
}

}  // namespace

std::map<std::string, DTypeKind> bind_dtypes(const Graph& graph, const GlobalTensors& given,
                                             const std::map<std::string, DTypeKind>& wanted,
                                             const InputFiles& files) {
  std::map<std::string, DTypeKind> bound = wanted;
  std::map<std::string, std::string> by;
  for (const auto& [name, kind] : wanted) by[name] = "--dtype; in C++, by the graph";
  for_each_given(graph, given,
                 [&](const std::string& name, const Input& input, const TensorData& tensor) {
                   const DTypeKind found = tensor.dtype;
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
                   const std::string list = name.substr(0, name.find('.'));
                   refuse("input " + name + " has dtype " + std::string(name_of(found)) +
                          "; needed is " + std::string(name_of(*needed)) + why + from(files, list));
                 });
  return bound;
}

namespace {

TensorData drawn_tensor(const std::string& name, const Input& input,
                        std::vector<std::int64_t> shape, std::uint64_t seed) {
  const DTypeKind kind = input.type.dtype.kind;
  TensorData tensor = TensorData::zeros(kind, std::move(shape));
  std::uint64_t key = seed;
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
  return tensor;
}

TensorData default_scalar(const std::string& name, const Input& input) {
  if (!input.default_value) {
    refuse("scalar " + name + " has no value and no default; give --scalar " + name +
           "=VALUE; in C++, a tensor " + name);
  }
  TensorData scalar = TensorData::zeros(input.type.dtype.kind, {});
  scalar.set_value(0, *input.default_value);
  return scalar;
}

// The rate of a dropout that is an input is known before any rank runs.
void need_rates(const Graph& graph, const GlobalTensors& given) {
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Dropout>(node.op)) continue;
    const Node& rate = graph.node(node.inputs[1]);
    const Input* input = std::get_if<Input>(&rate.op);
    if (!input) continue;
    const auto need = [&](double value) {
      const auto found = static_cast<float>(value);
      if (kernel::valid_rate(found)) return;
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, found).ptr;
      throw UserError(ErrorKind::data,
                      "the rate of this dropout, " + rate.name + ", must be from 0 to 1; found " +
                          std::string(text, end),
                      node.where);
    };
    const auto value = given.find(rate.name);
    if (value == given.end()) {
      need(input->default_value.value_or(0));
    } else {
      for (std::int64_t i = 0; i < value->second.elements(); ++i) need(value->second.value(i));
    }
  }
}

}  // namespace

void check_given(const Graph& graph, const GlobalTensors& given, const interp::Setting& setting) {
  std::map<std::string, DTypeKind> kinds;
  for (const auto& [name, kind] : graph.header().dtypes) kinds[name] = kind;
  bind_dtypes(graph, given, kinds);
  Sizes wanted = setting.sizes;
  const auto other = [&](const auto& size) {  // an axis, or a dim of another program
    return std::ranges::count(graph.header().dims, size.first) == 0;
  };
  std::erase_if(wanted, other);
  std::erase_if(wanted.lists, other);
  const Sizes all = bind_dims(graph, given, setting.mesh, wanted);
  const auto need = [](bool there, const std::string& name) {
    if (there) return;
    refuse("Setting::sizes has no size of dim " + name +
           ", which the inputs have; bind_dims gives all sizes");
  };
  for (const auto& [name, size] : all) need(wanted.contains(name) || graph.mesh().axis(name), name);
  for (const auto& [name, list] : all.lists) need(wanted.lists.contains(name), name);
  need_rates(graph, given);
}

std::uint64_t bytes_to_draw(const Graph& graph, const interp::Setting& setting,
                            const GlobalTensors& given) {
  std::uint64_t bytes = 0;
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    if (given.contains(input.type.is_list() ? member_name(name, 0) : name)) return;
    const std::uint64_t more = bytes_of(input, interp::global_sizes(input.type, setting));
    bytes = more < kBeyond - bytes ? bytes + more : kBeyond;
  });
  return bytes;
}

void give_ones(const Graph& graph, GlobalTensors& given) {
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (!input || input->kind != InputKind::scalar || input->default_value) continue;
    if (given.contains(node.name)) continue;
    TensorData one = TensorData::zeros(node.type.dtype.kind, {});
    one.set_value(0, 1);
    given[node.name] = std::move(one);
  }
}

std::vector<std::string> draw_missing(const Graph& graph, const interp::Setting& setting,
                                      GlobalTensors& given) {
  check_given(graph, given, setting);
  runtime::need_memory(bytes_to_draw(graph, setting, given), "the inputs");
  std::vector<std::string> drawn;
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    const TensorType& type = input.type;
    if (given.contains(type.is_list() ? member_name(name, 0) : name)) return;
    if (input.kind == InputKind::scalar) {
      given[name] = default_scalar(name, input);
      return;
    }
    drawn.push_back(name);
    if (!type.is_list()) {
      given[name] = drawn_tensor(name, input, interp::global_sizes(type, setting), setting.seed);
      return;
    }
    for (std::int64_t k = 0; k < members_of(type, setting.sizes); ++k) {
      const std::string own = member_name(name, k);
      given[own] = drawn_tensor(own, input, member_shape(type, setting, k), setting.seed);
    }
  });
  need_rates(graph, given);
  return drawn;
}

std::uint64_t bytes_of_pieces(const Graph& graph, const interp::Setting& setting) {
  std::uint64_t bytes = 0;
  for_each_input(graph, [&](const std::string&, const Input& input) {
    const auto sizes = bind(input.type.shape, setting.sizes);
    for (int rank = 0; rank < setting.mesh.ranks(); ++rank) {
      const Piece piece(sizes, input.type.layout, setting.mesh, setting.mesh.coordinates(rank));
      bytes += static_cast<std::uint64_t>(piece.count() * size_of(input.type.dtype.kind));
    }
  });
  return bytes;
}

std::map<std::string, interp::Pieces> distribute(const Graph& graph, const GlobalTensors& given,
                                                 const interp::Setting& setting) {
  check_given(graph, given, setting);
  runtime::need_memory(bytes_of_pieces(graph, setting), "the ranks' pieces of the inputs");
  std::map<std::string, interp::Pieces> out;
  for_each_input(graph, [&](const std::string& name, const Input& input) {
    if (!input.type.is_list()) {
      const auto tensor = given.find(name);
      if (tensor == given.end()) return;
      out[name] = interp::scatter_global(input.type, setting, tensor->second.bytes);
      return;
    }
    std::vector<const TensorData*> members;
    for (std::int64_t k = 0; k < members_of(input.type, setting.sizes); ++k) {
      const auto member = given.find(member_name(name, k));
      if (member == given.end()) return;
      members.push_back(&member->second);
    }
    out[name] = interp::scatter_global(input.type, setting, pack(input.type, setting, members));
  });
  return out;
}

std::vector<TensorData> gather_members(const TensorType& type, const interp::Pieces& pieces,
                                       const interp::Setting& setting) {
  if (!type.is_list()) refuse("gather_members takes a list; of a tensor, gather");
  return unpack(type, setting, interp::assemble(type, setting, pieces));
}

TensorData gather(const TensorType& type, const interp::Pieces& pieces,
                  const interp::Setting& setting) {
  if (type.is_list()) refuse("gather takes a tensor; of a list, gather_members");
  TensorData out;
  out.dtype = type.dtype.kind;
  out.shape = interp::global_sizes(type, setting);
  out.bytes = interp::assemble(type, setting, pieces);
  return out;
}

}  // namespace coconet::execute
