// The one path by which both forms of a program, text and C++, make nodes.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/program/literal.h"
#include "coconet/program/signature.h"

namespace coconet {

// What an expression stands for: a node, or a literal that has not met its dtype.
using Value = std::variant<NodeId, Literal>;

// Copied freely: a copy goes on for itself.
class Assembler {
 public:
  // An argument of a function: an operand or an attribute; nothing if it was left out.
  using Argument = std::variant<std::monostate, Value, DType, Fold, Slice, std::int64_t, bool,
                                std::vector<int>, Dim, Shape>;
  // The most nodes of one program.
  static constexpr int kMostNodes = 100000;

  explicit Assembler(Header header) : builder_(std::move(header)) {}

  GraphBuilder& builder() { return builder_; }
  const GraphBuilder& builder() const { return builder_; }
  const Mesh& mesh() const { return builder_.mesh(); }

  NodeId input(Input input, std::string name, const Where& where);
  // An operator or pointwise function. Literals take the other operand's dtype, and fold among
  // themselves.
  Value pointwise(PointwiseFn fn, std::vector<Value> operands, const Where& where);
  // One argument for each parameter of the function, or several for the first if it repeats.
  // `axes`: none if they were left out.
  Value call(const Signature& function, std::span<const Argument> arguments,
             std::optional<AxisList> axes, const Where& where);
  // The value gets the name, unless it has one already or is a literal.
  void name(const Value& value, const std::string& name);
  // A value that must be a node.
  NodeId node_of(const Value& value, const std::string& what, const Where& where) const;

 private:
  Value add(Op op, std::vector<Value> operands, const Where& where);
  NodeId materialize(const Literal& literal, const DType& dtype, const Where& where);
  NodeId add_node(Op op, std::vector<NodeId> inputs, const Where& where);
  void number_site(Dropout& dropout, bool given, const Where& where);

  GraphBuilder builder_;
  std::vector<int> depths_;  // by node: how deep its unnamed expression is
  std::set<int> sites_;      // of dropouts
  int dropouts_ = 0;
};

}  // namespace coconet
