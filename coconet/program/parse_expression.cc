#include <algorithm>

#include "coconet/program/parser.h"

namespace coconet::syntax {
namespace {

const PointwiseFn* operator_at(const Cursor& cursor) {
  const Token& token = cursor.peek();
  return token.is(token.text) ? operator_of(token.text) : nullptr;
}

// One level of nesting while it lives.
class Nesting {
 public:
  Nesting(int& depth, const Cursor& cursor) : depth_(depth) {
    if (depth_ > kDeepest) {  // the whole is a level too
      cursor.fail("an expression is nested at most " + std::to_string(kDeepest) +
                  " deep; give its parts names, as `part = a + b`");
    }
    ++depth_;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

}  // namespace

ExprId Parser::add(Expr expr) {
  for (ExprId child : expr.children) expr.depth = std::max(expr.depth, tree_.at(child).depth + 1);
  if (expr.depth > kDeepest + 1) {  // what the first one reads is a level too
    cursor_.fail(expr.place, "an expression has at most " + std::to_string(kDeepest) +
                                 " operations in a chain; give its parts names, as `part = a + b`");
  }
  tree_.exprs.push_back(std::move(expr));
  return static_cast<ExprId>(tree_.exprs.size()) - 1;
}

ExprId Parser::add_pointwise(PointwiseFn fn, std::vector<ExprId> operands, const Place& first) {
  Expr expr{.kind = ExprKind::pointwise, .place = span(first, cursor_.last_place())};
  expr.fn = fn;
  expr.children = std::move(operands);
  return add(std::move(expr));
}

ExprId Parser::climb(Binding least) {
  const Nesting nesting(depth_, cursor_);
  const Place first = cursor_.peek().place;
  ExprId left = -1;
  if (cursor_.is("not")) {
    if (least > Binding::logical_not)
      cursor_.fail("`not` binds less tightly; put it into parentheses");
    cursor_.advance();
    left = add_pointwise(PointwiseFn::logical_not, {climb(Binding::logical_not)}, first);
  } else {
    left = unary();
  }
  bool compared = false;
  for (;;) {
    const bool remainder = in_require_ && cursor_.is("%");
    const PointwiseFn* op = operator_at(cursor_);
    if (!op && !remainder) break;
    const PointwiseFn fn = remainder ? PointwiseFn::div : *op;
    const Binding binding = binding_of(fn);
    if (binding < least) break;
    if (compares(fn) && compared) {
      cursor_.fail("comparisons do not chain; write `a < b and b < c`");
    }
    compared = compares(fn);
    cursor_.advance();
    if (fn == PointwiseFn::mul && cursor_.is("*")) {
      cursor_.fail("`**` is no operator; a power is pow(a, b)");
    }
    const ExprId right = climb(static_cast<Binding>(static_cast<int>(binding) + 1));
    left = add_pointwise(fn, {left, right}, first);
    if (remainder) tree_.exprs.back().kind = ExprKind::remainder;
  }
  if (cursor_.is("%") && !in_require_) {
    cursor_.fail("`%` stands only in `require`; programs have no remainder");
  }
  if (cursor_.is("@")) {
    cursor_.fail(
        "found `@` after a value; axes stand after the call of a collective, as in "
        "all_reduce(x, +)@tp, and a product of matrices is matmul(a, b)");
  }
  return left;
}

ExprId Parser::unary() {
  if (!cursor_.is("-")) return atom();
  const Nesting nesting(depth_, cursor_);
  const Place first = cursor_.advance().place;
  return add_pointwise(PointwiseFn::neg, {unary()}, first);
}

ExprId Parser::atom() {
  const Token& token = cursor_.peek();
  if (token.is("(")) {
    cursor_.advance();
    const ExprId inside = expression();
    cursor_.expect(")", "to close a parenthesis");
    return inside;
  }
  const Place place = token.place;
  const std::string text(token.text);
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) {
    const bool integer = token.kind == TokenKind::integer;
    cursor_.advance();
    return add(
        {.kind = integer ? ExprKind::integer : ExprKind::real, .place = place, .text = text});
  }
  if (token.is("true") || token.is("false")) {
    cursor_.advance();
    return add({.kind = ExprKind::boolean, .place = place, .text = text});
  }
  if (token.kind != TokenKind::name || is_reserved(token.text) || cursor_.at_item()) {
    cursor_.fail(
        cursor_.missing_place(),
        "found " + Cursor::shown(token) +
            " where an expression is needed: a number, a name, a call or a parenthesis" +
            (token.is("[") ? "; a list of tensors is one input, as `g: f32[N_i] list`" : ""));
  }
  const Word name = cursor_.expect_name("the name of a value or a function");
  if (cursor_.is("(")) return call(name);
  return add({.kind = ExprKind::name, .place = place, .text = text});
}

ExprId Parser::call(const Word& callee) {
  cursor_.expect("(", "to open the arguments");
  Expr expr{.kind = ExprKind::call, .place = callee.place, .text = callee.text};
  if (!cursor_.is(")")) {
    do {
      expr.children.push_back(argument());
    } while (cursor_.accept(","));
  }
  cursor_.expect(")", "after the arguments of " + callee.text);
  expr.axes = axes();
  expr.place = span(callee.place, cursor_.last_place());
  return add(std::move(expr));
}

ExprId Parser::argument() {
  const Place first = cursor_.peek().place;
  const auto ends = [this](std::size_t ahead) {
    return cursor_.peek(ahead).is(",") || cursor_.peek(ahead).is(")");
  };
  if (cursor_.is("+") && ends(1)) {
    cursor_.advance();
    return add({.kind = ExprKind::fold, .place = first, .text = "+"});
  }
  const bool range = cursor_.peek(1).kind == TokenKind::integer && cursor_.peek(2).is("..");
  if (cursor_.is("(") && (range || cursor_.peek(1).is("*"))) {
    cursor_.advance();
    Expr expr{.kind = ExprKind::slice};
    expr.slice = cursor_.slice();
    expr.place = span(first, cursor_.last_place());
    return add(std::move(expr));
  }
  if (cursor_.is("[")) return dims_argument();
  if (cursor_.peek().kind == TokenKind::name && cursor_.peek(1).is("=")) {
    Expr expr{.kind = ExprKind::keyword, .text = cursor_.expect_name("a keyword").text};
    cursor_.advance();
    expr.children.push_back(cursor_.is("[") ? dims_argument() : expression());
    expr.place = span(first, cursor_.last_place());
    return add(std::move(expr));
  }
  return expression();
}

ExprId Parser::dims_argument() {
  const Place first = cursor_.peek().place;
  Expr expr{.kind = ExprKind::dims};
  expr.dims = bracketed_dims();
  expr.place = span(first, cursor_.last_place());
  return add(std::move(expr));
}

std::vector<DimExpr> Parser::bracketed_dims() {
  cursor_.expect("[", "to open the dims");
  std::vector<DimExpr> out;
  if (!cursor_.is("]")) {
    do {
      out.push_back(dim());
    } while (cursor_.accept(","));
  }
  cursor_.expect("]", "after the dims");
  return out;
}

DimExpr Parser::dim() {
  DimExpr out;
  const Place first = cursor_.peek().place;
  do {
    if (cursor_.peek().kind == TokenKind::integer) {
      const Where where = cursor_.where(cursor_.peek().place);
      const std::int64_t factor = cursor_.expect_integer("a dim");
      if (__builtin_mul_overflow(out.coefficient, factor, &out.coefficient)) {
        throw UserError(ErrorKind::syntax, "a dim fits in 63 bits", where);
      }
    } else {
      out.names.push_back(cursor_.expect_name("a dim, a name or an integer,"));
    }
  } while (cursor_.accept("*"));
  out.place = span(first, cursor_.last_place());
  return out;
}

std::optional<std::vector<Word>> Parser::axes() {
  if (!cursor_.accept("@")) return std::nullopt;
  if (!cursor_.accept("[")) return std::vector<Word>{cursor_.expect_name("the name of an axis")};
  std::vector<Word> out = cursor_.names("the name of an axis");
  cursor_.expect("]", "after the names of the axes");
  return out;
}

}  // namespace coconet::syntax
