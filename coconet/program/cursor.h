// A position in the tokens of a file, and what every parser needs of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coconet/program/lexer.h"
#include "coconet/type/layout.h"

namespace coconet::syntax {

struct Word {
  std::string text;
  Place place;
};

// A parse error is thrown as UserError(syntax) and caught where parsing can go on: at the next
// statement or item.
class Cursor {
 public:
  // Requires: `text` and `errors` outlive the cursor.
  Cursor(std::string_view text, std::string file, ErrorList& errors);

  const Token& peek(std::size_t ahead = 0) const;
  bool is(std::string_view wanted) const { return peek().is(wanted); }
  bool at_end() const { return peek().kind == TokenKind::end; }
  std::size_t position() const { return at_; }
  const Place& last_place() const { return tokens_[at_ > 0 ? at_ - 1 : 0].place; }
  Where where(const Place& place) const;
  ErrorList& errors() const { return errors_; }

  Token advance();
  bool accept(std::string_view wanted);
  // `why`: what the symbol is for, as "after the names of the axes".
  Token expect(std::string_view wanted, std::string_view why);
  Word expect_name(std::string_view what);  // "the name of a dim"
  std::int64_t expect_integer(std::string_view what);
  std::vector<Word> names(std::string_view what);
  // After "(": INT, INT..INT or *; takes the ")".
  Slice slice();
  // "+", "max", "min" or "prod".
  Fold fold();

  [[noreturn]] void fail(const std::string& message) const { fail(peek().place, message); }
  [[noreturn]] void fail(const Place& place, const std::string& message) const;
  // Where something is missing: at the token, or behind the one before if this begins a line.
  Place missing_place() const;
  // The token as a message shows it.
  static std::string shown(const Token& token);

  // At the beginning of a line: a word that opens an item ("program", ...), then a name.
  bool at_item() const;
  // Where parsing can go on after an error in the item that began at token `began`.
  void skip_to_item(std::size_t began);
  // The same in a block of statements: behind a ";", at a "}" that closes the block, or at a line
  // that begins as a statement does.
  void skip_to_statement(std::size_t began);

 private:
  bool at_statement() const;

  std::string file_;
  ErrorList& errors_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// The value of the digits, or UserError(syntax) at `where` beyond 63 bits.
std::int64_t integer_of(std::string_view digits, const Where& where);

}  // namespace coconet::syntax
