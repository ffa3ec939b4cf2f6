#include "coconet/program/read_require.h"

namespace coconet {
namespace {

using syntax::Expr;
using syntax::ExprId;
using syntax::ExprKind;

class ConditionReader {
 public:
  ConditionReader(const syntax::Tree& tree, const TypeReader& types) : tree_(tree), types_(types) {}

  SizeExpr condition(ExprId id) const {
    SizeExpr out = read(id);
    if (out.is_condition()) return out;
    refuse(id, "needed is a condition on sizes, as `require nh % size(tp) == 0`");
  }

 private:
  [[noreturn]] void refuse(ExprId id, const std::string& message) const {
    throw UserError(ErrorKind::type, message, types_.where(tree_.at(id).place));
  }

  SizeExpr number(ExprId id) const {
    SizeExpr out = read(id);
    if (out.is_condition()) refuse(id, "found a condition where a number is needed");
    return out;
  }

  SizeExpr read(ExprId id) const {
    const Expr& expr = tree_.at(id);
    switch (expr.kind) {
      case ExprKind::integer:
        return {SizeExpr::Kind::dim,
                Dim(syntax::integer_of(expr.text, types_.where(expr.place))),
                0,
                "",
                {}};
      case ExprKind::name: return dim(expr);
      case ExprKind::call: return size(id, expr);
      case ExprKind::pointwise: return operation(id, expr, std::string(symbol_of(expr.fn)));
      case ExprKind::remainder: return operation(id, expr, "%");
      case ExprKind::real:
      case ExprKind::boolean:
      case ExprKind::fold:
      case ExprKind::slice:
      case ExprKind::dims:
      case ExprKind::keyword: break;
    }
    refuse(id, "`require` takes whole numbers, dims, size(axis) and operators");
  }

  SizeExpr dim(const Expr& expr) const {
    if (types_.mesh().axis(expr.text)) {
      throw UserError(
          ErrorKind::type,
          "`" + expr.text + "` is an axis; its number of ranks is size(" + expr.text + ")",
          types_.where(expr.place));
    }
    syntax::DimExpr dim;
    dim.names.push_back({expr.text, expr.place});
    return {SizeExpr::Kind::dim, types_.dim(dim), 0, "", {}};
  }

  SizeExpr size(ExprId id, const Expr& expr) const {
    const bool one = expr.text == "size" && expr.children.size() == 1 && !expr.axes;
    if (!one) refuse(id, "`require` calls no function but size(axis)");
    const Expr& of = tree_.at(expr.children[0]);
    const std::optional<int> axis =
        of.kind == ExprKind::name ? types_.mesh().axis(of.text) : std::nullopt;
    if (axis) return {SizeExpr::Kind::axis, Dim(), *axis, "", {}};
    return number(expr.children[0]);
  }

  SizeExpr operation(ExprId, const Expr& expr, const std::string& symbol) const {
    SizeExpr out{SizeExpr::Kind::operation, Dim(), 0, symbol, {}};
    const bool truths = symbol == "and" || symbol == "or" || symbol == "not";
    for (ExprId child : expr.children) {
      out.operands.push_back(truths ? condition(child) : number(child));
    }
    // A product of dims is a dim.
    const bool product = symbol == "*" && out.operands[0].kind == SizeExpr::Kind::dim &&
                         out.operands[1].kind == SizeExpr::Kind::dim;
    if (!product) return out;
    try {
      return {SizeExpr::Kind::dim, out.operands[0].dim * out.operands[1].dim, 0, "", {}};
    } catch (const UserError& error) {
      throw error.at(types_.where(expr.place));
    }
  }

  const syntax::Tree& tree_;
  const TypeReader& types_;
};

}  // namespace

Requirement read_require(const syntax::Tree& tree, const TypeReader& types, ExprId id) {
  return {ConditionReader(tree, types).condition(id), types.where(tree.at(id).place)};
}

void collect_names(const syntax::Tree& tree, const Declarations& declarations, ExprId id,
                   std::set<std::string>* names) {
  const Expr& expr = tree.at(id);
  if (expr.kind == ExprKind::name) names->insert(expr.text);
  for (const syntax::DimExpr& dim : expr.dims) {
    for (const syntax::Word& name : dim.names) names->insert(name.text);
  }
  for (ExprId child : expr.children) collect_names(tree, declarations, child, names);
  const auto function = declarations.functions.find(expr.text);
  if (expr.kind != ExprKind::call || function == declarations.functions.end()) return;
  // Once a function, which also ends where functions call each other.
  if (!names->insert(expr.text + "()").second) return;
  collect_names(tree, declarations, function->second->value, names);
}

}  // namespace coconet
