// What the names of a file and of a program stand for while it is read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coconet/program/assembler.h"
#include "coconet/program/syntax.h"

namespace coconet {

// The declarations of a file so far.
struct Declarations {
  std::optional<Mesh> mesh;
  std::vector<std::string> dims;
  std::vector<DTypeParameter> dtypes;
  std::map<std::string, const syntax::Def*> functions;
  std::vector<Requirement> requirements;
  // Some declaration failed: an unknown name may be its.
  bool incomplete = false;

  bool has_dim(const std::string& name) const;
  std::optional<DType> dtype(const std::string& name) const;
  std::vector<std::string> known_dtypes() const;  // parameters too
};

// "; did you mean `f32`?" of `f23` and of `float32`, or "".
std::string dtype_suggestion(const std::string& word, const std::vector<std::string>& dtypes);

// Thrown in place of an error where what is used has failed before.
struct Poisoned {};

// The values of a program by name; one whose statement failed is there as poison.
class Scope {
 public:
  void bind(const std::string& name, const Value& value, int line);
  void poison(const std::string& name, int line);
  bool has(const std::string& name) const { return bindings_.count(name) > 0; }
  int line_of(const std::string& name) const { return bindings_.at(name).line; }
  // Null if there is none. Throws Poisoned if it failed.
  const Value* find(const std::string& name) const;
  std::vector<std::string> names() const;
  // A statement failed before its name was read.
  void set_incomplete() { incomplete_ = true; }
  bool incomplete() const { return incomplete_; }

 private:
  struct Binding {
    std::optional<Value> value;
    int line = 0;
  };
  std::unordered_map<std::string, Binding> bindings_;
  std::vector<std::string> order_;
  bool incomplete_ = false;
};

// Turns type expressions into types. Every failure is a UserError at its place, or Poisoned.
class TypeReader {
 public:
  TypeReader(const Declarations& declarations, std::string file)
      : declarations_(declarations), file_(std::move(file)) {}

  DType dtype(const syntax::Word& word) const;
  Dim dim(const syntax::DimExpr& dim) const;
  TensorType type(const syntax::TypeExpr& type) const;
  AxisList axes(const std::vector<syntax::Word>& words) const;
  Where where(const syntax::Place& place) const {
    return {file_, place.line, place.column, place.length};
  }
  const Declarations& declarations() const { return declarations_; }
  const Mesh& mesh() const { return *declarations_.mesh; }

 private:
  Layout layout(const std::vector<syntax::PlaceExpr>& placed) const;

  const Declarations& declarations_;
  std::string file_;
};

}  // namespace coconet
