#include "coconet/source/cpp/text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "coconet/plan/access.h"
#include "coconet/plan/bind.h"
#include "coconet/type/list.h"

namespace coconet::source::cpp {

std::string storage_type(DTypeKind kind) {
  switch (kind) {
    case DTypeKind::f16: return "f16";
    case DTypeKind::bf16: return "bf16";
    case DTypeKind::f32: return "float";
    case DTypeKind::f64: return "double";
    case DTypeKind::i32: return "std::int32_t";
    case DTypeKind::i64: return "std::int64_t";
    case DTypeKind::boolean: return "bool";
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

std::string compute_type(DTypeKind kind) { return storage_type(accumulator_of(kind)); }

std::string fold_type(Fold fold) {
  switch (fold) {
    case Fold::sum: return "Sum";
    case Fold::max: return "Max";
    case Fold::min: return "Min";
    case Fold::prod: return "Prod";
  }
  throw InternalError("a Fold outside its enumerators");
}

namespace {

std::string shortest(double value) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string out(text.data(), end);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

}  // namespace

std::string literal_text(const Constant& constant) {
  const DTypeKind kind = constant.dtype.kind;
  const std::string value = std::visit(Overloaded{
                                           [](bool b) { return std::string(b ? "true" : "false"); },
                                           [](std::int64_t i) {
                                             if (i == INT64_MIN) return std::string("INT64_MIN");
                                             return "std::int64_t{" + std::to_string(i) + "}";
                                           },
                                           [](double d) { return shortest(d); },
                                       },
                                       constant.value);
  if (kind == DTypeKind::f64 && std::holds_alternative<double>(constant.value)) return value;
  if (kind == DTypeKind::f32 && std::holds_alternative<double>(constant.value)) {
    // A short decimal of the nearest float reads better; it is the same number.
    std::array<char, 64> text;
    const float nearest = static_cast<float>(std::get<double>(constant.value));
    const auto end = std::to_chars(text.data(), text.data() + text.size(), nearest).ptr;
    std::string out(text.data(), end);
    if (out.find_first_of(".en") == std::string::npos) out += ".0";
    if (out.find("in") == std::string::npos && out.find("na") == std::string::npos) {
      return out + "f";
    }
  }
  return "cast<" + storage_type(kind) + ">(" + value + ")";
}

std::string list_text(const plan::Plan& plan, const Dim& dim) {
  const std::vector<Dim> lists = plan.lists();
  const auto found = std::find(lists.begin(), lists.end(), Dim::packed(dim.elements()));
  check(found != lists.end(), "a plan has a table for each of its lists");
  return "list::of_" + std::to_string(found - lists.begin()) + "(call)";
}

std::string dim_text(const plan::Plan& plan, const Dim& dim) {
  if (dim.is_packed()) {
    return list_text(plan, dim) + (dim.is_blocks() ? ".blocks" : ".blocks * kBlockElements");
  }
  if (dim.is_members()) {
    for (const std::string& name : plan.graph.header().dims) {
      if (list_index(name) == dim.names()[0]) return "dim::" + dim_name(name) + "(call)";
    }
    throw InternalError("a list of scalars has a dim of its index");
  }
  std::string out;
  if (dim.coefficient() != 1 || dim.names().empty()) out = std::to_string(dim.coefficient());
  for (const std::string& name : dim.names()) {
    out += (out.empty() ? "dim::" : " * dim::") + dim_name(name) + "(call)";
  }
  return dim.is_blocks() ? "blocks_of(" + out + ")" : out;
}

std::string product_text(const plan::Plan& plan, const Shape& shape) {
  std::string out;
  for (const Dim& dim : shape) out += (out.empty() ? "" : " * ") + dim_text(plan, dim);
  return out.empty() ? "1" : out;
}

std::string axes_text(const AxisList& axes) {
  std::string out = "{";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out += (i > 0 ? ", " : "") + std::to_string(axes[i]);
  }
  return out + "}";
}

std::string peers_name(const Mesh& mesh, const AxisList& axes) {
  std::string out;
  for (int axis : axes) out += mesh.axes[axis] + "_";
  return out + "ranks";
}

bool touches_ring(const plan::Plan& plan, int launch) {
  return std::ranges::any_of(
      plan::accesses_of(plan, plan.launches.at(launch)),
      [&](const plan::Access& access) { return plan.buffer(access.buffer).ring > 0; });
}

std::string ring_text(const plan::Plan& plan, plan::BufferId ring, const std::string& space) {
  const plan::Buffer& buffer = plan.buffer(ring);
  const plan::OverlapGroup& group = plan.overlaps.at(plan.launch(buffer.first).overlap);
  const std::string row =
      group.slice.flat ? "kBlockElements"
                       : "row_elements(" + space + ", " + std::to_string(group.slice.last) + ")";
  return std::string("turn.to_ring") + (plan::cut_as(buffer.type, group) ? "_of_slice(" : "(") +
         std::to_string(buffer.ring) + ") * " + row;
}

std::string as_comment(const std::string& text, const std::string& indent) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\\') line += '.';  // would continue the comment
    out += indent + "//" + (line.empty() ? "" : " ") + line + "\n";
    begin = end + 1;
  }
  return out;
}

std::string Pieces::function_of(const TensorType& type) {
  const auto key = std::make_pair(type.shape, type.layout);
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i] == key) return "piece_" + std::to_string(i);
  }
  const std::string name = "piece_" + std::to_string(known_.size());
  known_.push_back(key);
  const int dims = type.rank();
  text_ += "// " + text_of(type.shape) + (type.layout.all_replicated() ? "" : " ") +
           type.layout.text(plan_.graph.mesh()) + "\n";
  text_ += "COCONET_ONCE Space " + name + "([[maybe_unused]] const Ranks& ranks) {\n";
  if (dims == 0) {
    text_ += "  Space space = whole_space(nullptr, 0);\n";
  } else {
    text_ += "  [[maybe_unused]] const Call& call = ranks.call;\n";
    text_ += "  const std::int64_t sizes[] = {";
    for (int d = 0; d < dims; ++d) text_ += (d > 0 ? ", " : "") + dim_text(plan_, type.shape[d]);
    text_ += "};\n  Space space = whole_space(sizes, " + std::to_string(dims) + ");\n";
  }
  for (int axis : type.layout.slice_order()) {
    const Slice& slice = type.layout.slice(axis);
    const int first = slice.flat ? 0 : slice.first, last = slice.flat ? dims - 1 : slice.last;
    const std::string at = "[" + std::to_string(axis) + "]";
    text_ += "  cut_space(space, " + std::to_string(first) + ", " + std::to_string(last) + ", " +
             (slice.flat ? "kBlockElements" : "1") + ", ranks.sizes" + at + ", ranks.coordinates" +
             at + ");\n";
  }
  for (int axis = 0; axis < type.layout.axes(); ++axis) {
    const auto* rooted = std::get_if<Rooted>(&type.layout.at(axis));
    if (!rooted) continue;
    text_ += "  space.empty_here |= ranks.coordinates[" + std::to_string(axis) +
             "] != " + std::to_string(rooted->root) + ";\n";
  }
  text_ += "  return space;\n}\n\n";
  return name;
}

}  // namespace coconet::source::cpp
