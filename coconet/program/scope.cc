#include "coconet/program/scope.h"

#include <algorithm>

#include "coconet/base/nearest.h"

namespace coconet {

bool Declarations::has_dim(const std::string& name) const {
  return std::find(dims.begin(), dims.end(), name) != dims.end();
}

std::optional<DType> Declarations::dtype(const std::string& name) const {
  if (const std::optional<DTypeKind> kind = dtype_kind_of(name)) return DType(*kind);
  for (const DTypeParameter& parameter : dtypes) {
    if (parameter.name == name) return DType(parameter.kind, name);
  }
  return std::nullopt;
}

std::vector<std::string> Declarations::known_dtypes() const {
  std::vector<std::string> out = dtype_names();
  for (const DTypeParameter& parameter : dtypes) out.push_back(parameter.name);
  return out;
}

std::string dtype_suggestion(const std::string& word, const std::vector<std::string>& dtypes) {
  const std::pair<std::string, std::string> prefixes[] = {
      {"bfloat", "bf"}, {"float", "f"}, {"int", "i"}};
  for (const auto& [theirs, ours] : prefixes) {
    if (!word.starts_with(theirs)) continue;
    const std::string size = word.substr(theirs.size());
    const std::string name = ours + (size.empty() ? "32" : size);
    if (std::ranges::count(dtypes, name) > 0) return "; did you mean `" + name + "`?";
  }
  return suggestion(word, dtypes);
}

void Scope::bind(const std::string& name, const Value& value, int line) {
  if (bindings_.insert_or_assign(name, Binding{value, line}).second) order_.push_back(name);
}

void Scope::poison(const std::string& name, int line) {
  if (bindings_.insert({name, Binding{std::nullopt, line}}).second) order_.push_back(name);
}

const Value* Scope::find(const std::string& name) const {
  const auto found = bindings_.find(name);
  if (found == bindings_.end()) return nullptr;
  if (!found->second.value) throw Poisoned{};
  return &*found->second.value;
}

std::vector<std::string> Scope::names() const { return order_; }

DType TypeReader::dtype(const syntax::Word& word) const {
  if (const std::optional<DType> dtype = declarations_.dtype(word.text)) return *dtype;
  if (declarations_.incomplete) throw Poisoned{};
  throw UserError(ErrorKind::type,
                  "`" + word.text + "` is not a dtype" +
                      dtype_suggestion(word.text, declarations_.known_dtypes()) + " (" +
                      listed(dtype_names()) + ", or a parameter declared as `dtype " + word.text +
                      " = f16`)",
                  where(word.place));
}

Dim TypeReader::dim(const syntax::DimExpr& dim) const {
  Dim out(dim.coefficient);
  for (const syntax::Word& name : dim.names) {
    if (!declarations_.has_dim(name.text) && !mesh().axis(name.text)) {
      if (declarations_.incomplete) throw Poisoned{};
      throw UserError(ErrorKind::type,
                      "`" + name.text + "` is not a dim" +
                          suggestion(name.text, declarations_.dims) +
                          "; dims are declared before the program, as `dim " + name.text + "`",
                      where(name.place));
    }
    try {
      out = out * Dim::named(name.text);
    } catch (const UserError& error) {
      throw error.at(where(name.place));
    }
  }
  return out;
}

AxisList TypeReader::axes(const std::vector<syntax::Word>& words) const {
  AxisList out;
  for (const syntax::Word& word : words) {
    const std::optional<int> axis = mesh().axis(word.text);
    if (!axis) {
      throw UserError(ErrorKind::type,
                      "`" + word.text + "` is not an axis of the mesh " + mesh().text() +
                          suggestion(word.text, mesh().axes),
                      where(word.place));
    }
    if (std::find(out.begin(), out.end(), *axis) != out.end()) {
      throw UserError(ErrorKind::type, "the axis " + word.text + " stands twice",
                      where(word.place));
    }
    out.push_back(*axis);
  }
  return out;
}

Layout TypeReader::layout(const std::vector<syntax::PlaceExpr>& placed) const {
  Layout out(mesh().size());
  std::vector<bool> given(mesh().size(), false);
  for (const syntax::PlaceExpr& place : placed) {
    AxisList on;
    if (place.axes) {
      on = axes(*place.axes);
    } else if (mesh().size() == 1) {
      on = {0};
    } else if (!std::holds_alternative<Replicated>(place.placement)) {
      throw UserError(ErrorKind::type,
                      text_of(place.placement) + " does not say on which axis of the mesh " +
                          mesh().text() + "; write " + text_of(place.placement) + "@" +
                          mesh().axes[0],
                      where(place.place));
    }
    for (int axis : on) {
      if (given[axis]) {
        throw UserError(ErrorKind::type,
                        "the axis " + mesh().axes[axis] + " has two placements; it takes one",
                        where(place.place));
      }
      given[axis] = true;
      try {
        out = out.with(axis, place.placement);
      } catch (const UserError& error) {
        throw error.at(where(place.place));
      }
    }
  }
  return out;
}

TensorType TypeReader::type(const syntax::TypeExpr& type) const {
  TensorType out;
  out.dtype = dtype(type.dtype);
  try {
    for (const syntax::DimExpr& d : type.dims) out.shape.push_back(dim(d));
    out.layout = layout(type.placed);
    if (type.list) out = list_of(out.dtype, out.shape, out.layout, type.index.text);
    validate(out, mesh());
  } catch (const UserError& error) {
    throw error.at(where(type.place));
  }
  return out;
}

}  // namespace coconet
