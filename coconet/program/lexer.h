// Characters to tokens (docs/language.md, Grammar).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coconet/program/report.h"

namespace coconet::syntax {

// A place in the text that is read. Lines and columns (in bytes) from 1.
struct Place {
  int line = 0;
  int column = 0;
  int length = 1;
};

// From the beginning of `from` to the end of `to`; of `from` alone if `to` is on another line.
Place span(const Place& from, const Place& to);

enum class TokenKind { name, integer, real, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // of the text that was given; of an end: empty
  Place place;
  bool first_on_line = false;

  // A symbol (":", "..", "<=") or a word ("program").
  bool is(std::string_view wanted) const {
    return text == wanted && (kind == TokenKind::symbol || kind == TokenKind::name);
  }
};

// Never fails: what is no token is reported and skipped. Ends with one token of kind end. The
// tokens refer to `text`.
std::vector<Token> tokens_of(std::string_view text, const std::string& file, ErrorList& errors);

// A name of the language: letters, digits, underscores, then quotes; not a reserved word.
bool is_name(std::string_view text);
bool is_reserved(std::string_view text);

}  // namespace coconet::syntax
