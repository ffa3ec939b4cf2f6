// The C++ form of programs: values as `Tensor`, operators and functions on them.
//
//   Tensor layer = p.let("layer", matmul(x, w));
//   Tensor total = p.let("total", all_reduce(layer, Fold::sum));
//   Tensor drop = p.let("drop", dropout(total + b, rate));
//
// An error is thrown at the call that has no meaning and carries its place in the user's source.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "coconet/program/assembler.h"

namespace coconet {

// A value of a program: an input, or what an expression gives. A handle: copied freely, valid as
// long as any handle or the Program lives. Not for use by several threads at once.
class Tensor {
 public:
  // The name that `Program::let` gave, or the input's; "" for a sub-expression.
  const std::string& name() const { return name_; }
  const TensorType& type() const;  // UserError for a literal

 private:
  friend class Program;
  friend class Operand;
  Tensor(std::shared_ptr<Assembler> assembler, Value value, std::string name = "")
      : assembler_(std::move(assembler)), value_(std::move(value)), name_(std::move(name)) {}

  std::shared_ptr<Assembler> assembler_;
  Value value_;
  std::string name_;
};

// What operators and functions take: a tensor or a literal, with the place of the user's call.
class Operand {
 public:
  Operand(const Tensor& tensor,  // NOLINT: converts
          CallSite at = std::source_location::current())
      : tensor_(tensor), where_(at.where) {}
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Operand(Number number,  // NOLINT: converts
          CallSite at = std::source_location::current())
      : tensor_(nullptr, literal(number, at.where)), where_(at.where) {}

  const Where& where() const { return where_; }
  const Value& value() const { return tensor_.value_; }
  const std::string& name() const { return tensor_.name(); }

  // The function of that name on the arguments; operands among them are given as Operand.
  using Given = std::variant<std::monostate, Operand, DType, Fold, Slice, std::int64_t, bool,
                             std::vector<int>, Dim, Shape>;
  static Tensor call(const char* function, const std::vector<Given>& arguments,
                     const std::vector<std::string>& axes = {});
  static Tensor pointwise(PointwiseFn fn, const std::vector<Operand>& operands);

 private:
  friend class Program;
  template <class Number>
  static Value literal(Number number, const Where& where) {
    if constexpr (std::is_same_v<Number, bool>) {
      return Literal{LiteralValue(number)};
    } else if constexpr (std::is_integral_v<Number>) {
      if (!std::in_range<std::int64_t>(number)) {
        throw UserError(ErrorKind::type, "a literal fits in 63 bits", where);
      }
      return Literal{LiteralValue(static_cast<std::int64_t>(number))};
    } else {
      if (!std::isfinite(static_cast<double>(number))) {
        throw UserError(ErrorKind::type, "a literal is a finite number; found NaN or infinity",
                        where);
      }
      return Literal{LiteralValue(static_cast<double>(number))};
    }
  }

  Tensor tensor_;
  Where where_;
};

// The axes of a collective, `all_reduce(x, Fold::sum, on("tp"))`; may be left out if one fits.
using Axes = std::vector<std::string>;
template <class... Names>
Axes on(Names... names) {
  return {std::string(names)...};
}

// The dims of a reduction, `sum(x, over(1))`; none: the whole tensor.
struct Over {
  explicit Over(std::vector<int> dims = {}) : dims(std::move(dims)) {}
  std::vector<int> dims;
};
template <class... Numbers>
Over over(Numbers... dims) {
  return Over({static_cast<int>(dims)...});
}

// --- Operators
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);
Tensor operator<(const Operand& a, const Operand& b);
Tensor operator<=(const Operand& a, const Operand& b);
Tensor operator>(const Operand& a, const Operand& b);
Tensor operator>=(const Operand& a, const Operand& b);
Tensor operator==(const Operand& a, const Operand& b);
Tensor operator!=(const Operand& a, const Operand& b);
Tensor operator&&(const Operand& a, const Operand& b);  // `and`; both sides are evaluated
Tensor operator||(const Operand& a, const Operand& b);  // `or`
Tensor operator!(const Operand& a);                     // `not`

// --- Pointwise functions
Tensor abs(const Operand& x);
Tensor sqrt(const Operand& x);
Tensor rsqrt(const Operand& x);
Tensor exp(const Operand& x);
Tensor log(const Operand& x);
Tensor tanh(const Operand& x);
Tensor erf(const Operand& x);
Tensor relu(const Operand& x);
Tensor gelu(const Operand& x);
Tensor silu(const Operand& x);
Tensor sigmoid(const Operand& x);
Tensor pow(const Operand& x, const Operand& exponent);
Tensor min(const Operand& x, const Operand& y);
Tensor max(const Operand& x, const Operand& y);
Tensor where(const Operand& condition, const Operand& x, const Operand& y);
Tensor cast(const Operand& x, const DType& dtype);
// Sites are numbered in the order of the calls; C++ does not say which of two calls in one
// expression comes first, so give those sites.
Tensor dropout(const Operand& x, const Operand& p, std::optional<int> site = std::nullopt);

// --- Products, reductions, normalisation
// Which operands are given transposed: a as [..., k, m], b as [..., n, k].
struct Transposed {
  bool a = false, b = false;
};
Tensor matmul(const Operand& a, const Operand& b, std::optional<DType> out = std::nullopt);
Tensor matmul(const Operand& a, const Operand& b, const Transposed& transposed,
              std::optional<DType> out = std::nullopt);
struct Conv2dOptions {
  int stride = 1, padding = 0;
  std::optional<Shape> size = std::nullopt;  // OH and OW where they are no product of dims
};
Tensor conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options = {});
Tensor sum(const Operand& x, const Over& over = Over());
Tensor max(const Operand& x, const Over& over = Over());
Tensor min(const Operand& x, const Over& over = Over());
Tensor prod(const Operand& x, const Over& over = Over());
Tensor mean(const Operand& x, const Over& over = Over());
Tensor norm(const Operand& x, std::optional<DType> out = std::nullopt);
Tensor layer_norm(const Operand& x, const Operand& gamma, const Operand& beta, const Operand& eps);
// Of a list: the fold of its members, in list order; of tensors, which all have the shape `size`.
Tensor across(const Operand& x, Fold fold, const Shape& size = {});
Tensor rms_norm(const Operand& x, const Operand& gamma, const Operand& eps);
Tensor softmax(const Operand& x, const Over& over = Over());  // none: the last dim

// --- Movement of data
Tensor transpose(const Operand& x, const std::vector<int>& order);
Tensor reshape(const Operand& x, const Shape& shape);
Tensor narrow(const Operand& x, int dim, const Dim& start, const Dim& length);
// `size`: of the dim in the result, where it is no sum of multiples of one product.
Tensor concat(const std::vector<Operand>& operands, int dim,
              std::optional<Dim> size = std::nullopt);

Tensor update(const Operand& storage, const Operand& value);

// --- Communication
Tensor all_reduce(const Operand& x, Fold fold, const Axes& axes = {});
Tensor reduce_scatter(const Operand& x, Fold fold, const Slice& slice, const Axes& axes = {});
Tensor all_gather(const Operand& x, const Axes& axes = {});
Tensor reduce(const Operand& x, Fold fold, int root, const Axes& axes = {});
Tensor broadcast(const Operand& x, std::optional<int> root = std::nullopt, const Axes& axes = {});
Tensor shard(const Operand& x, const Slice& slice, const Axes& axes = {});
Tensor root(const Operand& x, int root, const Axes& axes = {});
Tensor as_partial(const Operand& x, Fold fold, const Axes& axes = {});
// To the rank `by` further on the axis; zeros where none sends.
Tensor shift(const Operand& x, const std::string& axis, int by, bool wrap = false);
// From slice `from` to slice `to`.
Tensor all_to_all(const Operand& x, const Slice& from, const Slice& to, const Axes& axes = {});
Tensor stack(const Operand& x, const Axes& axes = {});

}  // namespace coconet
