// The C++ form of programs: a Program holds what is declared and named.
//
//   Program p("attention", Mesh{"world", {"tp"}});
//   const Dim B = p.dim("B"), S = p.dim("S"), H = p.dim("H");
//   const DType T = p.dtype("T", f16);
//   Tensor x = p.input("x", T, {B, S, H}, sliced(2));
//   ...
//   p.returns({out});
//   Graph graph = p.graph();
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/program/tensor.h"

namespace coconet {

// A placement and, on a mesh of several axes, the axes it is on.
struct Placed {
  Placement placement;
  Axes axes;

  template <class... Names>
  Placed on(Names... names) const {
    return {placement, {std::string(names)...}};
  }
};

inline Placed replicated() { return {Replicated{}, {}}; }
inline Placed local() { return {Local{}, {}}; }
inline Placed sliced(int dim) { return {Sliced{Slice::dim(dim)}, {}}; }
inline Placed sliced(int first, int last) { return {Sliced{Slice::range(first, last)}, {}}; }
inline Placed sliced_all() { return {Sliced{Slice::all()}, {}}; }  // sliced(*)
inline Placed partial(Fold fold) { return {Partial{fold}, {}}; }
inline Placed rooted(int root) { return {Rooted{root}, {}}; }

// One placement, or several in braces, overlapping slices major first. Axes left out: replicated.
struct Placements {
  std::vector<Placed> list;
  Placements() = default;
  Placements(Placed placed) : list{std::move(placed)} {}              // NOLINT: converts
  Placements(std::initializer_list<Placed> placed) : list(placed) {}  // NOLINT: converts
};

// What an input has: dims or, as list({N_i}), a list of members that have them. `index`: of a list
// of scalars, list({}, "j").
struct InputShape {
  Shape dims;
  bool list = false;
  std::string index = {};
  InputShape() = default;
  InputShape(Shape dims) : dims(std::move(dims)) {}            // NOLINT: converts
  InputShape(std::initializer_list<Dim> dims) : dims(dims) {}  // NOLINT: converts
};
inline InputShape list(const Shape& member, std::string index = "") {
  InputShape out(member);
  out.list = true;
  out.index = std::move(index);
  return out;
}

// Not copyable: tensors refer to it. All names follow the text form's rules.
class Program {
 public:
  using At = CallSite;

  Program(std::string name, Mesh mesh, At at = std::source_location::current());
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Declarations come before the first input; every dim is one of some value's.
  Dim dim(const std::string& name, At at = std::source_location::current());
  DType dtype(const std::string& name, const DType& value, At at = std::source_location::current());

  // A condition on sizes in the text form's words, as "nh % size(tp) == 0". Before the first input.
  void require(const std::string& condition, At at = std::source_location::current());

  Tensor input(const std::string& name, const DType& dtype, const InputShape& shape,
               const Placements& placements = {}, At at = std::source_location::current());
  Tensor state(const std::string& name, const DType& dtype, const InputShape& shape,
               const Placements& placements = {}, At at = std::source_location::current());
  Tensor scalar(const std::string& name, const DType& dtype,
                std::optional<double> default_value = std::nullopt,
                At at = std::source_location::current());

  // size(axis), or size of a product of dims: a literal.
  Tensor size(const std::string& axis, At at = std::source_location::current()) const;
  Tensor size(const Dim& dim) const;

  // Names a value: the name stands for its whole expression. A second name of a value is an alias.
  Tensor let(const std::string& name, const Operand& value);
  // The outputs, under their names. Called once, last.
  void returns(const std::vector<Tensor>& outputs, At at = std::source_location::current());

  // The typed graph. May be called again.
  Graph graph() const;

 private:
  Tensor add_input(InputKind kind, const std::string& name, const DType& dtype,
                   const InputShape& shape, const Placements& placements,
                   std::optional<double> default_value, const Where& where);
  bool uses_dim(const std::string& dim) const;
  Layout layout_of(const Placements& placements, const Where& where) const;
  bool updates() const;  // some storage
  void need_free(const std::string& name, const Where& where) const;

  Header header_;
  bool returned_ = false;
  Where where_;
  std::set<std::string> names_;  // of inputs, values and aliases
  std::shared_ptr<Assembler> assembler_;
};

}  // namespace coconet
