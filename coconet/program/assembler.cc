#include "coconet/program/assembler.h"

#include <algorithm>

#include "coconet/graph/expand.h"
#include "coconet/graph/infer.h"

namespace coconet {
namespace {

// An unnamed expression as deep as this gets a name, so that printing and reading it stay bounded.
constexpr int kDeepest = 100;

[[noreturn]] void refuse(const std::string& message, const Where& where) {
  throw UserError(ErrorKind::type, message, where);
}

void set_axes(Op& op, const AxisList& axes) {
  std::visit(
      [&](auto& payload) {
        if constexpr (requires { payload.axes; }) payload.axes = axes;
      },
      op);
}

bool has_axes(const Op& op) {
  return std::visit(
      [](const auto& payload) {
        return requires { payload.axes; };
      },
      op);
}

std::string shown(const Op& op) { return std::string(word_of(op)); }

// A dropout's probability that is a literal is known before any run.
void need_rate(const Op& probability, const Where& where) {
  const Constant* constant = std::get_if<Constant>(&probability);
  const double* rate = constant ? std::get_if<double>(&constant->value) : nullptr;
  if (!rate || (*rate >= 0 && *rate <= 1)) return;
  refuse("dropout's probability is " + text_of(constant->value) + "; it must be from 0 to 1",
         where);
}

}  // namespace

NodeId Assembler::input(Input input, std::string name, const Where& where) {
  try {
    validate(input.type, mesh());
  } catch (const UserError& error) {
    throw error.at(where);
  }
  const NodeId id = builder_.add(std::move(input), {}, std::move(name), where);
  depths_.resize(builder_.size(), 0);
  return id;
}

NodeId Assembler::add_node(Op op, std::vector<NodeId> inputs, const Where& where) {
  if (builder_.size() >= kMostNodes) {
    throw UserError(ErrorKind::unsupported,
                    "a program has at most " + std::to_string(kMostNodes) + " operations", where);
  }
  if (std::holds_alternative<Dropout>(op)) need_rate(builder_.node(inputs[1]).op, where);
  int depth = 1;
  for (NodeId input : inputs) {
    int& operand = depths_[input.index];
    if (operand >= kDeepest && builder_.node(input).name.empty()) {
      builder_.set_name(input, builder_.fresh_name("part"));
    }
    if (builder_.node(input).name.empty()) depth = std::max(depth, operand + 1);
  }
  try {
    const NodeId id = add_visible(builder_, std::move(op), std::move(inputs), "", where);
    depths_.resize(builder_.size(), depth);
    return id;
  } catch (const UserError& error) {
    throw error.at(where);
  }
}

NodeId Assembler::materialize(const Literal& literal, const DType& dtype, const Where& where) {
  if (const LiteralValue* value = std::get_if<LiteralValue>(&literal.content)) {
    return add_node(constant_of(*value, dtype, where), {}, where);
  }
  if (const Literal::Size* size = std::get_if<Literal::Size>(&literal.content)) {
    const int* axis = std::get_if<int>(&size->of);
    Op op = axis ? Op(AxisSize{*axis, dtype}) : Op(DimSize{std::get<Dim>(size->of), dtype});
    return add_node(std::move(op), {}, where);
  }
  const Literal::Call& call = std::get<Literal::Call>(literal.content);
  std::vector<NodeId> inputs;
  for (const Literal& operand : call.operands) {
    inputs.push_back(materialize(operand, dtype, where));
  }
  return add_node(Pointwise{call.fn}, std::move(inputs), where);
}

Value Assembler::add(Op op, std::vector<Value> operands, const Where& where) {
  std::vector<std::optional<DType>> known;
  for (const Value& operand : operands) {
    const NodeId* id = std::get_if<NodeId>(&operand);
    known.push_back(id ? std::optional(builder_.type(*id).dtype) : std::nullopt);
  }
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (const NodeId* id = std::get_if<NodeId>(&operands[i])) {
      inputs.push_back(*id);
      continue;
    }
    const std::optional<DType> dtype = literal_dtype(op, static_cast<int>(i), known);
    if (!dtype) {
      refuse("operand " + std::to_string(i + 1) + " of " + shown(op) +
                 " is a literal, and no operand beside it gives it a dtype; use a tensor, or give "
                 "the dtype, as in `cast(1, f32)`",
             where);
    }
    inputs.push_back(materialize(std::get<Literal>(operands[i]), *dtype, where));
  }
  return add_node(std::move(op), std::move(inputs), where);
}

Value Assembler::pointwise(PointwiseFn fn, std::vector<Value> operands, const Where& where) {
  check(static_cast<int>(operands.size()) == arity_of(fn), "a pointwise function has its operands");
  std::vector<Literal> literals;
  for (const Value& operand : operands) {
    if (const Literal* literal = std::get_if<Literal>(&operand)) literals.push_back(*literal);
  }
  if (literals.size() == operands.size()) return computed(fn, std::move(literals), where);
  return add(Pointwise{fn}, std::move(operands), where);
}

void Assembler::number_site(Dropout& dropout, bool given, const Where& where) {
  const int ordinal = dropouts_++;
  if (dropout.site < 0) refuse("a dropout's site is a number from 0 on", where);
  if (!given) dropout.site = ordinal;
  if (sites_.insert(dropout.site).second) return;
  refuse("two dropouts have site " + std::to_string(dropout.site) +
             " and so one mask; give every dropout of the program a site of its own, or none (one "
             "mask for two values: multiply both by a dropout of ones)",
         where);
}

Value Assembler::call(const Signature& function, std::span<const Argument> arguments,
                      std::optional<AxisList> axes, const Where& where) {
  check(arguments.size() == function.parameters.size() ||
            (function.repeats && arguments.size() > function.parameters.size()),
        "one argument for each parameter");
  std::vector<Value> operands;
  std::vector<Attribute> attributes;
  for (const Argument& argument : arguments) {
    std::visit(Overloaded{[&](const Value& value) { operands.push_back(value); },
                          [&](const auto& attribute) { attributes.push_back(attribute); }},
               argument);
  }
  Op op = function.make(attributes);
  if (const Pointwise* fn = std::get_if<Pointwise>(&op)) {
    return pointwise(fn->fn, std::move(operands), where);
  }
  if (const AxisSize* size = std::get_if<AxisSize>(&op)) return Literal{Literal::Size{size->axis}};
  if (const DimSize* size = std::get_if<DimSize>(&op)) return Literal{Literal::Size{size->dim}};
  const Cast* cast = std::get_if<Cast>(&op);
  const Literal* literal = operands.empty() ? nullptr : std::get_if<Literal>(&operands[0]);
  if (cast && literal) return materialize(*literal, cast->to, where);
  if (Dropout* dropout = std::get_if<Dropout>(&op)) {
    number_site(*dropout, !std::holds_alternative<std::monostate>(attributes[0]), where);
  }
  if (has_axes(op) && (axes || axes_of(op).empty())) {
    const NodeId operand = node_of(operands[0], "the operand of " + shown(op), where);
    try {
      set_axes(op, axes ? *axes : only_axes_for(op, builder_.type(operand), mesh()));
    } catch (const UserError& error) {
      throw error.at(where);
    }
  }
  return add(std::move(op), std::move(operands), where);
}

void Assembler::name(const Value& value, const std::string& name) {
  const NodeId* id = std::get_if<NodeId>(&value);
  if (id && builder_.node(*id).name.empty()) builder_.set_name(*id, name);
}

NodeId Assembler::node_of(const Value& value, const std::string& what, const Where& where) const {
  if (const NodeId* id = std::get_if<NodeId>(&value)) return *id;
  refuse(what +
             " is a literal, which has no dtype and no place; use a tensor, or give the dtype, "
             "as in `cast(1, f32)`",
         where);
}

}  // namespace coconet
