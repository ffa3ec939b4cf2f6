// What the parser makes of a file: its form, before names and types mean anything.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coconet/graph/op.h"
#include "coconet/program/cursor.h"

namespace coconet::syntax {

// An expression of a Tree. Children stand before their parents, so a tree of any size is freed
// without recursion; its depth is bounded (kDeepest), so recursion over it is safe.
using ExprId = int;
inline constexpr int kDeepest = 200;

struct DimExpr {
  std::int64_t coefficient = 1;
  std::vector<Word> names;
  Place place;
};

enum class ExprKind {
  integer,
  real,
  boolean,
  name,
  pointwise,  // an operator
  remainder,  // `%`, which only `require` has
  call,
  fold,     // `+` as an argument
  slice,    // `(0..1)`, `(*)` as an argument
  dims,     // `[0]` as an argument
  keyword,  // `out=f32`
};

struct Expr {
  ExprKind kind = ExprKind::name;
  Place place = {};
  std::string text = {};  // digits, name, callee, keyword
  PointwiseFn fn = PointwiseFn::add;
  std::vector<ExprId> children = {};
  Slice slice = {};
  std::vector<DimExpr> dims = {};
  std::optional<std::vector<Word>> axes = {};  // of a call
  int depth = 1;
};

struct PlaceExpr {
  Placement placement;
  std::optional<std::vector<Word>> axes;
  Place place;
};

struct TypeExpr {
  Word dtype;
  std::vector<DimExpr> dims;
  bool list = false;
  Word index;  // of `list(j)`; no text where it is not written
  std::vector<PlaceExpr> placed;
  Place place;
};

struct Parameter {
  InputKind kind = InputKind::tensor;
  Word name;
  TypeExpr type;                // of a scalar: its dtype
  std::optional<ExprId> value;  // of a scalar: a literal
};

enum class StatementKind { value, fused, overlapped, result, broken };

struct Statement {
  StatementKind kind = StatementKind::value;
  std::vector<Word> names;
  std::optional<TypeExpr> type;
  ExprId value = -1;
  Word group;
  std::vector<Statement> body;  // of a group
  Place place;
};

struct Program {
  Word name;
  std::vector<Parameter> parameters;
  std::vector<Statement> statements;
};

struct Mesh {
  Word name;
  std::vector<Word> axes;
};
struct Dims {
  std::vector<Word> names;
};
struct DTypeItem {
  Word name;
  Word value;
};
struct Require {
  ExprId value = -1;
};
struct Def {
  Word name;
  std::vector<Word> parameters;
  ExprId value = -1;
};
// An item with an error in it; `name` as far as it was read.
struct BrokenItem {
  std::string name;
  bool is_program = false;
};

using Item = std::variant<Mesh, Dims, DTypeItem, Require, Def, Program, BrokenItem>;

// The declarations and programs of a file, in order.
struct Tree {
  std::vector<Expr> exprs;
  std::vector<Item> items;
  const Expr& at(ExprId id) const { return exprs.at(id); }
};

}  // namespace coconet::syntax
