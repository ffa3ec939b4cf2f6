#include "coconet/program/parser.h"

#include <limits>

#include "coconet/base/nearest.h"

namespace coconet::syntax {
namespace {

constexpr int kDeepestGroup = 8;

// What the language has for a statement of other languages that begins with `word`.
std::string instead_of(std::string_view word) {
  if (word == "if" || word == "else") {
    return "; there is no `if`: where(condition, x, y) chooses for each element";
  }
  return word == "for" || word == "while" ? "; there are no loops" : "";
}

}  // namespace

void Parser::item() {
  const std::size_t began = cursor_.position();
  const bool is_program = cursor_.is("program");
  std::string name =
      cursor_.peek(1).kind == TokenKind::name ? std::string(cursor_.peek(1).text) : "";
  try {
    if (cursor_.accept("mesh")) return mesh();
    if (cursor_.accept("dim")) return dims();
    if (cursor_.accept("dtype")) return dtype();
    if (cursor_.accept("require")) return require();
    if (cursor_.accept("def")) return def();
    if (cursor_.accept("program")) return program(name);
    cursor_.fail(
        "found " + Cursor::shown(cursor_.peek()) +
        " where a declaration is needed: mesh, dim, dtype, require, def, program, schedule "
        "or choice" +
        suggestion(cursor_.peek().text,
                   {"mesh", "dim", "dtype", "require", "def", "program", "schedule", "choice"}));
  } catch (const UserError& error) {
    cursor_.errors().add(error);
    in_require_ = false;
    tree_.items.push_back(BrokenItem{name, is_program});
    cursor_.skip_to_item(began);
  }
}

void Parser::mesh() {
  Mesh out;
  out.name = cursor_.expect_name("the name of the mesh");
  cursor_.expect("(", "before the names of the axes");
  out.axes = cursor_.names("the name of an axis");
  cursor_.expect(")", "after the names of the axes");
  tree_.items.push_back(std::move(out));
}

void Parser::dims() { tree_.items.push_back(Dims{cursor_.names("the name of a dim")}); }

void Parser::dtype() {
  DTypeItem out;
  out.name = cursor_.expect_name("the name of a dtype parameter");
  cursor_.expect("=", "before the default of a dtype parameter");
  out.value = cursor_.expect_name("a dtype");
  tree_.items.push_back(std::move(out));
}

void Parser::require() {
  in_require_ = true;
  const ExprId value = expression();
  in_require_ = false;
  if (cursor_.is("=")) cursor_.fail("found `=` in a condition; that two are equal is `a == b`");
  tree_.items.push_back(Require{value});
}

void Parser::def() {
  Def out;
  out.name = cursor_.expect_name("the name of a function");
  cursor_.expect("(", "before the parameters of a function");
  out.parameters = cursor_.names("the name of a parameter");
  cursor_.expect(")", "after the parameters of a function");
  cursor_.expect("=", "before the expression of a function");
  out.value = expression();
  tree_.items.push_back(std::move(out));
}

void Parser::program(std::string& name) {
  Program out;
  out.name = cursor_.expect_name("the name of a program");
  name = out.name.text;
  cursor_.expect("(", "before the inputs of a program");
  while (!cursor_.is(")")) {
    out.parameters.push_back(parameter());
    if (!cursor_.accept(",")) break;
  }
  cursor_.expect(")", "after the inputs of a program");
  const Place opened = cursor_.expect("{", "before the statements of a program").place;
  out.statements = block(opened, 0);
  tree_.items.push_back(std::move(out));
}

Parameter Parser::parameter() {
  Parameter out;
  const bool names_follow = cursor_.peek(1).kind == TokenKind::name;
  if (names_follow && cursor_.accept("scalar")) {
    out.kind = InputKind::scalar;
  } else if (names_follow && cursor_.accept("state")) {
    out.kind = InputKind::state;
  }
  out.name = cursor_.expect_name("the name of an input");
  cursor_.expect(":", "between the name of an input and its type");
  if (out.kind != InputKind::scalar) {
    need_dims(out);
    out.type = type();
    return out;
  }
  out.type.dtype = cursor_.expect_name("the dtype of a scalar");
  out.type.place = out.type.dtype.place;
  if (cursor_.is("[")) {
    cursor_.fail("a scalar has no dims; an input with dims has no `scalar` before its name");
  }
  if (cursor_.accept("=")) {
    const TokenKind kind = cursor_.peek(cursor_.is("-") ? 1 : 0).kind;
    const bool number = kind == TokenKind::integer || kind == TokenKind::real;
    if (!number && !cursor_.is("true") && !cursor_.is("false")) {
      cursor_.fail("found " + Cursor::shown(cursor_.peek()) +
                   " where the default of a scalar, a number, true or false, is needed");
    }
    out.value = unary();
  }
  return out;
}

// A type is a dtype and dims in brackets, which a number has too unless it is a scalar.
void Parser::need_dims(const Parameter& parameter) {
  if (cursor_.peek().kind != TokenKind::name || cursor_.peek(1).is("[")) return;
  const std::string dtype(cursor_.expect_name("a dtype").text);
  const std::string& name = parameter.name.text;
  cursor_.fail(
      cursor_.missing_place(),
      "found " + Cursor::shown(cursor_.peek()) + " where `[` is needed to open the dims of " +
          name + ", as " + dtype + "[N], or " + dtype + "[] for one number" +
          (parameter.kind == InputKind::state
               ? ""
               : "; a number given with the call is `scalar " + name + ": " + dtype + "`"));
}

// Behind the "{" at `opened`; takes the "}".
std::vector<Statement> Parser::block(const Place& opened, int nesting) {
  std::vector<Statement> out;
  while (!cursor_.accept("}")) {
    if (cursor_.at_end() || cursor_.at_item()) {
      cursor_.errors().add(UserError(ErrorKind::syntax,
                                     "found " + Cursor::shown(cursor_.peek()) +
                                         " where `}` is needed to close the `{` of line " +
                                         std::to_string(opened.line),
                                     cursor_.where(cursor_.peek().place)));
      return out;
    }
    const std::size_t began = cursor_.position();
    Statement partial;
    try {
      out.push_back(statement(partial, nesting));
      cursor_.accept(";");
    } catch (const UserError& error) {
      cursor_.errors().add(error);
      partial.kind = StatementKind::broken;
      out.push_back(std::move(partial));
      cursor_.skip_to_statement(began);
    }
  }
  return out;
}

// `partial` holds what was read when an error is thrown.
Statement Parser::statement(Statement& partial, int nesting) {
  partial.place = cursor_.peek().place;
  if (cursor_.accept("return")) {
    partial.kind = StatementKind::result;
    partial.names = cursor_.names("the name of a value (`return` takes names alone)");
    need_end_of_result();
    return std::move(partial);
  }
  const bool group_follows = cursor_.peek(1).kind == TokenKind::name && cursor_.peek(2).is("{");
  if (group_follows && cursor_.accept("overlapped")) {
    return group(std::move(partial), StatementKind::overlapped, nesting);
  }
  partial.names = cursor_.names("a statement, as `name = expression`,");
  if (cursor_.accept(":")) partial.type = type();
  if (cursor_.is("(")) {
    const std::string& callee = partial.names.back().text;
    cursor_.fail(
        "found `(` where `=` is needed after the name that a statement gives; a call gives "
        "a value, which takes a name, as `y = " +
        callee + "(...)`");
  }
  cursor_.expect("=", "after the name that a statement gives" + instead_of(partial.names[0].text));
  const bool fused = cursor_.is("fused") && cursor_.peek(1).kind == TokenKind::name;
  if (fused && !partial.type) {
    cursor_.advance();
    return group(std::move(partial), StatementKind::fused, nesting);
  }
  partial.value = expression();
  return std::move(partial);
}

// Behind the names of `return`.
void Parser::need_end_of_result() {
  const Token& token = cursor_.peek();
  const bool operates = token.kind == TokenKind::symbol && !token.is("}") && !token.is(";");
  if (!operates && !token.is("and") && !token.is("or")) return;
  cursor_.fail("found " + Cursor::shown(token) +
               " after a name that is returned; `return` takes names alone, so give the expression "
               "one, as `out = ...`, and return that");
}

Statement Parser::group(Statement statement, StatementKind kind, int nesting) {
  if (nesting >= kDeepestGroup) cursor_.fail("groups are nested too deep");
  statement.kind = kind;
  statement.group = cursor_.expect_name("the name of a group");
  const Place opened = cursor_.expect("{", "before the statements of a group").place;
  statement.body = block(opened, nesting + 1);
  return statement;
}

TypeExpr Parser::type() {
  TypeExpr out;
  out.dtype = cursor_.expect_name("a dtype");
  out.dims = bracketed_dims();
  // What a comma is missing before may be an input called list.
  if (!cursor_.peek(1).is(":") && cursor_.accept("list")) {
    out.list = true;
    if (cursor_.accept("(")) {
      out.index = cursor_.expect_name("the index of a list");
      cursor_.expect(")", "after the index of a list");
    }
  }
  for (;;) {
    // What a comma is missing before is the next input, not a placement.
    const bool input = cursor_.peek(1).is(":") || cursor_.peek(2).is(":");
    if (cursor_.peek().kind != TokenKind::name || cursor_.at_item() || input) break;
    out.placed.push_back(placed());
  }
  out.place = span(out.dtype.place, cursor_.last_place());
  return out;
}

PlaceExpr Parser::placed() {
  PlaceExpr out;
  const Place first = cursor_.peek().place;
  out.placement = placement();
  out.axes = axes();
  out.place = span(first, cursor_.last_place());
  return out;
}

Placement Parser::placement() {
  if (cursor_.accept("replicated")) return Replicated{};
  if (cursor_.accept("local")) return Local{};
  const Token word = cursor_.advance();
  if (!word.is("sliced") && !word.is("partial") && !word.is("rooted")) {
    const std::vector<std::string> known = {"replicated", "local", "sliced", "partial", "rooted"};
    cursor_.fail(word.place, Cursor::shown(word) + " is not a placement" +
                                 suggestion(word.text, known) +
                                 "; there are replicated, local, sliced(0), sliced(0..1), "
                                 "sliced(*), partial(+) and rooted(0)");
  }
  const std::string forms = word.is("sliced")    ? "sliced(0), sliced(0..1) or sliced(*)"
                            : word.is("partial") ? "partial(+), partial(max) and the like"
                                                 : "rooted(0)";
  cursor_.expect("(", "after " + std::string(word.text) + ", as in " + forms);
  if (word.is("sliced")) return Sliced{cursor_.slice()};
  if (word.is("partial")) {
    const Fold fold = cursor_.fold();
    cursor_.expect(")", "after the fold of a partial placement");
    return Partial{fold};
  }
  const Place place = cursor_.peek().place;
  const std::int64_t root = cursor_.expect_integer("the root's coordinate");
  if (root > std::numeric_limits<int>::max()) cursor_.fail(place, "no axis has so many ranks");
  cursor_.expect(")", "after a root");
  return Rooted{static_cast<int>(root)};
}

}  // namespace coconet::syntax
