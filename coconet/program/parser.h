// Tokens to a syntax tree: recursive descent (docs/language.md, Grammar), all but schedules.
#pragma once

#include "coconet/program/syntax.h"

namespace coconet::syntax {

class Parser {
 public:
  // Requires: both outlive the parser.
  Parser(Cursor& cursor, Tree& tree) : cursor_(cursor), tree_(tree) {}

  // Reads one item other than a schedule into the tree; an error goes to the cursor's list, and the
  // cursor stands behind the item.
  void item();

 private:
  // parser.cc
  void mesh();
  void dims();
  void dtype();
  void require();
  void def();
  void program(std::string& name);
  Parameter parameter();
  void need_dims(const Parameter& parameter);
  std::vector<Statement> block(const Place& opened, int nesting);
  Statement statement(Statement& partial, int nesting);
  void need_end_of_result();
  Statement group(Statement statement, StatementKind kind, int nesting);
  TypeExpr type();
  PlaceExpr placed();
  Placement placement();

  // parse_expression.cc
  ExprId expression() { return climb(Binding::logical_or); }
  ExprId climb(Binding least);  // of operators that bind so tightly or tighter
  ExprId unary();
  ExprId atom();
  ExprId call(const Word& callee);
  ExprId argument();
  ExprId dims_argument();
  std::vector<DimExpr> bracketed_dims();
  DimExpr dim();
  std::optional<std::vector<Word>> axes();
  ExprId add(Expr expr);
  ExprId add_pointwise(PointwiseFn fn, std::vector<ExprId> operands, const Place& first);

  Cursor& cursor_;
  Tree& tree_;
  int depth_ = 0;
  bool in_require_ = false;
};

}  // namespace coconet::syntax
