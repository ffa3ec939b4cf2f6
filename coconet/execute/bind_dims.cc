// The sizes of dims from what is given: solved from the shapes of the inputs.
#include <algorithm>
#include <optional>
#include <set>

#include "coconet/base/nearest.h"
#include "coconet/execute/inputs.h"
#include "coconet/execute/lists.h"
#include "coconet/graph/walk.h"

namespace coconet::execute {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw UserError(ErrorKind::data, message); }

// The axes of which a file holds an entry for each rank.
AxisList leading_axes(const Layout& layout) {
  AxisList out;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (layout.is<Local>(axis) || layout.is<Partial>(axis)) out.push_back(axis);
  }
  return out;
}

// Of a list: of a member.
const Shape& shape_in_file(const TensorType& type) { return type.list ? *type.list : type.shape; }

std::string needed_shape(const TensorType& type, const Mesh& mesh) {
  std::string out = "[";
  for (int axis : leading_axes(type.layout)) out += "size(" + mesh.axes[axis] + "),";
  const std::string dims = text_of(shape_in_file(type)).substr(1);
  if (dims == "]" && out.size() > 1) out.pop_back();
  return out + dims;
}

// What `needed_shape` is in numbers, or "" while a dim has no size.
std::string needed_sizes(const TensorType& type, const MeshSizes& mesh, const Sizes& sizes) {
  std::vector<std::int64_t> out;
  for (int axis : leading_axes(type.layout)) out.push_back(mesh.sizes[axis]);
  for (const Dim& dim : shape_in_file(type)) {
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

// A dim of a given tensor. `member`: of a list, whose own dims have a size for each member.
struct DimUse {
  std::string tensor;
  int position;
  Dim dim;
  std::int64_t size;
  std::int64_t member = -1;
};

class DimBinding {
 public:
  DimBinding(const Graph& graph, const MeshSizes& mesh, const Sizes& wanted,
             const InputFiles& files)
      : graph_(graph),
        mesh_(mesh),
        files_(files),
        sizes_(with_axes(wanted, graph.mesh(), mesh)),
        list_dims_(list_dims(graph)) {
    check_wanted(wanted);
  }

  void add(const std::string& name, const Input& input, const TensorData& tensor,
           const std::string& file_of, std::int64_t member);
  void add_list(const std::string& name, const Input& input, const GlobalTensors& given);
  // `one` is the size that all members of a list have in `numbered`.
  void add_alike(const Dim& numbered, const Dim& one) { alike_.emplace_back(numbered, one); }
  Sizes solved();

 private:
  bool is_list_dim(const std::string& name) const { return list_dims_.contains(name); }
  void check_wanted(const Sizes& wanted) const;
  std::optional<std::int64_t> known(const std::string& name, std::int64_t member) const;
  // The one name of the dim that has no size yet, if there is just one and it occurs once.
  std::string only_unknown(const DimUse& use) const;
  bool learn_from(const DimUse& use);
  void learn();
  void fill_lists();
  std::int64_t needed(const DimUse& use) const;
  // For a dim that across says the size of; returns if none does.
  void refuse_across(const std::string& name) const;
  void refuse_unknown() const;

  const Graph& graph_;
  const MeshSizes& mesh_;
  const InputFiles& files_;
  Sizes sizes_;
  std::set<std::string> list_dims_;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> of_members_;  // learned
  std::map<std::string, std::pair<std::int64_t, std::string>> members_;  // by index, and of which
  std::vector<DimUse> uses_;
  std::vector<std::pair<Dim, Dim>> alike_;
};

void DimBinding::check_wanted(const Sizes& wanted) const {
  const auto& dims = graph_.header().dims;
  const auto need = [&](const std::string& name, bool list) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) {
      std::string all;
      for (const std::string& dim : dims) all += (all.empty() ? "" : ", ") + dim;
      refuse("there is no dim " + name + "; the program has " + (all.empty() ? "none" : all));
    }
    if (list == is_list_dim(name)) return;
    refuse("dim " + name +
           (list ? " has one size; found several"
                 : " has a size for each member of a list; found one size") +
           "; " + how_to_give(name + (list ? "=SIZE" : "=SIZE,SIZE,...")));
  };
  for (const auto& [name, size] : wanted) need(name, false);
  for (const auto& [name, list] : wanted.lists) {
    need(name, true);
    wanted.members(list_index(name));
  }
}

void DimBinding::add(const std::string& name, const Input& input, const TensorData& tensor,
                     const std::string& file_of, std::int64_t member) {
  const AxisList leading = leading_axes(input.type.layout);
  const Shape& dims = shape_in_file(input.type);
  const std::string needed =
      needed_shape(input.type, graph_.mesh()) + needed_sizes(input.type, mesh_, sizes_);
  const auto refuse_shape = [&](const std::string& more) {
    refuse("input " + name + " has shape " + text_of_shape(tensor.shape) + "; needed is " + needed +
           more + from(files_, file_of));
  };
  if (tensor.shape.size() != leading.size() + dims.size()) refuse_shape("");
  for (std::size_t i = 0; i < leading.size(); ++i) {
    const std::string ranks = std::to_string(mesh_.sizes[leading[i]]);
    if (tensor.shape[i] == mesh_.sizes[leading[i]]) continue;
    const bool cut = i == 0 && tensor.shape[i] > mesh_.sizes[leading[i]];
    const auto file = files_.find(file_of);
    const bool npy = file != files_.end() && file->second.ends_with(".npy");
    const std::string form = file_of + (npy ? "=FILE.npy[0:" : "=FILE:NAME[0:") + ranks + "]";
    refuse_shape(", one entry for each of the " + ranks + " ranks of " +
                 graph_.mesh().axes[leading[i]] +
                 (cut ? " (a file with more can be cut: " + form + ")" : ""));
  }
  for (std::size_t d = 0; d < dims.size(); ++d) {
    uses_.push_back({name, static_cast<int>(d), dims[d], tensor.shape[leading.size() + d], member});
  }
}

void DimBinding::add_list(const std::string& name, const Input& input, const GlobalTensors& given) {
  std::int64_t count = 0;
  for (const auto& [other, tensor] : given) count += is_member(name, other);
  if (count == 0) return;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto tensor = given.find(member_name(name, k));
    if (tensor == given.end()) {
      refuse("the list " + name + " has " + std::to_string(count) + " members but no " +
             member_name(name, k) + "; needed: numbered from 0 on" + from(files_, name));
    }
    add(tensor->first, input, tensor->second, name, k);
  }
  const std::string index = list_index(input.type.shape[0]);
  for (const auto& [dim, list] : sizes_.lists) {
    if (list_index(dim) != index) continue;
    members_.try_emplace(index, static_cast<std::int64_t>(list.size()), "dim " + dim);
  }
  const auto other = members_.try_emplace(index, count, "the list " + name).first->second;
  if (other.first == count) return;
  refuse("the list " + name + " has " + std::to_string(count) + " members, " + other.second + " " +
         std::to_string(other.first) + "; lists over " + index + " have one number of members" +
         from(files_, name));
}

std::optional<std::int64_t> DimBinding::known(const std::string& name, std::int64_t member) const {
  if (is_list_dim(name)) {
    const auto list = sizes_.lists.find(name);
    const bool none = list != sizes_.lists.end() && list->second.empty();
    if (list != sizes_.lists.end() && !none) return list->second.at(member);
    const auto learned = of_members_.find({name, member});
    return learned == of_members_.end() ? std::nullopt : std::optional(learned->second);
  }
  const auto size = sizes_.find(name);
  return size == sizes_.end() ? std::nullopt : std::optional(size->second);
}

std::string DimBinding::only_unknown(const DimUse& use) const {
  std::string unknown;
  for (const std::string& name : use.dim.names()) {
    if (known(name, use.member)) continue;
    if (!unknown.empty()) return "";
    unknown = name;
  }
  return unknown;
}

// From a dim that has one unknown name left. Whether members are alike is for check_sizes to say.
bool DimBinding::learn_from(const DimUse& use) {
  const std::string name = only_unknown(use);
  if (name.empty()) return false;
  std::int64_t factor = use.dim.coefficient();
  for (const std::string& other : use.dim.names()) {
    if (other != name) factor = checked_product(factor, *known(other, use.member));
  }
  if (factor == 0) return false;
  if (use.size % factor != 0) {
    if (use.tensor.empty()) return false;
    refuse("input " + use.tensor + ": dim " + std::to_string(use.position) + " is " +
           use.dim.text() + ", a multiple of " + std::to_string(factor) + "; found " +
           std::to_string(use.size));
  }
  (is_list_dim(name) ? of_members_[{name, use.member}] : sizes_[name]) = use.size / factor;
  return true;
}

// Until nothing more is learned.
void DimBinding::learn() {
  for (bool learned = true; learned;) {
    learned = false;
    for (const DimUse& use : uses_) learned = learn_from(use) || learned;
    for (const auto& [numbered, one] : alike_) {
      const DimUse first{"", 0, numbered, 0, 0};
      const bool bound = std::ranges::all_of(
          numbered.names(), [&](const std::string& name) { return known(name, 0).has_value(); });
      if (bound) learned = learn_from({"", 0, one, needed(first), -1}) || learned;
    }
  }
}

// What was learned of every member; of no members, for all dims of the index.
void DimBinding::fill_lists() {
  for (const auto& [name, list] : sizes_.lists) {
    if (list.empty()) members_.try_emplace(list_index(name), 0, "dim " + name);
  }
  for (const std::string& name : list_dims_) {
    const auto count = members_.find(list_index(name));
    if (count == members_.end() || sizes_.lists.contains(name)) continue;
    std::vector<std::int64_t> sizes;
    for (std::int64_t k = 0; k < count->second.first; ++k) {
      const auto learned = of_members_.find({name, k});
      if (learned != of_members_.end()) sizes.push_back(learned->second);
    }
    if (static_cast<std::int64_t>(sizes.size()) == count->second.first) {
      sizes_.lists[name] = std::move(sizes);
    }
  }
}

std::int64_t DimBinding::needed(const DimUse& use) const {
  std::int64_t size = use.dim.coefficient();
  for (const std::string& name : use.dim.names()) {
    const auto one = known(name, use.member);
    size = checked_product(size, one ? *one : Dim::named(name).bind(sizes_));
  }
  return size;
}

void DimBinding::refuse_across(const std::string& name) const {
  for (const auto& [numbered, one] : alike_) {
    if (std::ranges::find(one.names(), name) == one.names().end()) continue;
    const auto list = std::ranges::find_if(numbered.names(), [&](const std::string& dim) {
      return sizes_.lists.contains(dim) && sizes_.lists.at(dim).empty();
    });
    if (list != numbered.names().end()) {
      refuse("dim " + name + " has no size: across says that members have " + one.text() +
             " for their " + numbered.text() + ", but the list has no members; " +
             how_to_give(name + "=SIZE"));
    }
    const bool known_all = std::ranges::all_of(
        numbered.names(), [&](const std::string& dim) { return known(dim, 0).has_value(); });
    if (known_all && one.names().size() == 1) {
      refuse("no size of " + name + " makes " + one.text() + ", which across says, the " +
             std::to_string(needed({"", 0, numbered, 0, 0})) + " that member 0 has of " +
             numbered.text() + "; needed are members of a size that " + one.text() +
             " has for a whole " + name);
    }
  }
}

// All dims that nothing gave a size.
void DimBinding::refuse_unknown() const {
  std::vector<std::string> names;
  std::string sizes;
  for (const std::string& name : graph_.header().dims) {
    const bool list = is_list_dim(name);
    if (list ? sizes_.lists.contains(name) : sizes_.contains(name)) continue;
    if (!list) refuse_across(name);
    names.push_back(name);
    sizes += (sizes.empty() ? "" : ",") + name + (list ? "=SIZE,SIZE,..." : "=SIZE");
  }
  if (names.empty()) return;
  refuse((names.size() == 1 ? "dim " : "dims ") + listed(names) +
         (names.size() == 1 ? " has no size; " : " have no sizes; ") + how_to_give(sizes));
}

Sizes DimBinding::solved() {
  learn();
  fill_lists();
  for (const DimUse& use : uses_) {
    if (needed(use) == use.size) continue;
    const std::string list = use.tensor.substr(0, use.tensor.find('.'));
    refuse("input " + use.tensor + ": dim " + std::to_string(use.position) + ", " + use.dim.text() +
           ", must be " + std::to_string(needed(use)) + "; found " + std::to_string(use.size) +
           from(files_, list));
  }
  refuse_unknown();
  return std::move(sizes_);
}

// Each tensor is of an input, or a member of a list, and holds the bytes that it says.
void check_tensors(const Graph& graph, const GlobalTensors& given) {
  for (const auto& [name, tensor] : given) {
    const std::string base = name.substr(0, name.find('.'));
    const Input* input = input_named(graph, base);
    if (!input) refuse(no_input(graph, name));
    const bool list = input->type.is_list();
    if (!(list ? is_member(base, name) : base == name)) {
      refuse("found a tensor " + name + ", but " + base +
             (list ? " is a list; needed are its members, " + member_name(base, 0) + ", ..."
                   : " is no list; needed is " + base));
    }
    const std::int64_t bytes = byte_count(tensor.dtype, tensor.shape).value_or(-1);
    if (bytes == static_cast<std::int64_t>(tensor.bytes.size())) continue;
    refuse("input " + name + " holds " + std::to_string(tensor.bytes.size()) +
           " bytes; its shape " + text_of_shape(tensor.shape) + " of " +
           std::string(name_of(tensor.dtype)) + " needs " +
           (bytes < 0 ? "more than there can be" : std::to_string(bytes)));
  }
}

}  // namespace

Sizes bind_dims(const Graph& graph, const GlobalTensors& given, const MeshSizes& mesh,
                const Sizes& wanted, const InputFiles& files) {
  check_tensors(graph, given);
  DimBinding binding(graph, mesh, wanted, files);
  for (const Node& node : graph.nodes()) {
    const Across* across = std::get_if<Across>(&node.op);
    for (std::size_t d = 0; across && across->size && d < across->size->size(); ++d) {
      binding.add_alike((*graph.node(node.inputs[0]).type.list)[d], (*across->size)[d]);
    }
    const Input* input = std::get_if<Input>(&node.op);
    if (!input) continue;
    if (input->type.is_list()) {
      binding.add_list(node.name, *input, given);
    } else if (const auto tensor = given.find(node.name); tensor != given.end()) {
      binding.add(node.name, *input, tensor->second, node.name, -1);
    }
  }
  return binding.solved();
}

}  // namespace coconet::execute
