#include "coconet/program/lexer.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace coconet::syntax {

Place span(const Place& from, const Place& to) {
  if (from.line != to.line) return from;
  return {from.line, from.column, to.column + to.length - from.column};
}

namespace {

// `fused` and `overlapped` are words of the language only before the name of a group.
constexpr std::array<std::string_view, 6> kReserved = {"return", "and",  "or",
                                                       "not",    "true", "false"};
constexpr std::array<std::string_view, 5> kLongSymbols = {"..", "<=", ">=", "==", "!="};
constexpr std::string_view kSymbols = "()[]{},;:=<>+-*/%@";

// Locale-free.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

// What the language has for an operator of other languages.
std::string instead_of(char c) {
  switch (c) {
    case '^': return "; a power is pow(a, b)";
    case '&': return "; write `and` between truth values";
    case '|': return "; write `or` between truth values";
    case '!':
    case '~': return "; write `not` before a truth value";
    default: return "";
  }
}

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file, ErrorList& errors)
      : text_(text), file_(file), errors_(errors) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = line_begin_ = 3;  // a byte order mark
    while (skip_blanks(), at_ < text_.size()) read();
    push(TokenKind::end, 0);
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (!is_space(text_[at_])) {
        return;
      } else if (text_[at_++] == '\n') {
        ++line_;
        line_begin_ = at_;
        fresh_line_ = true;
      }
    }
  }

  Place place(std::size_t length) const {
    return {line_, static_cast<int>(at_ - line_begin_) + 1, static_cast<int>(length)};
  }

  void push(TokenKind kind, std::size_t length) {
    tokens_.push_back(
        {kind, text_.substr(at_, length), place(std::max<std::size_t>(length, 1)), fresh_line_});
    fresh_line_ = false;
    at_ += length;
  }

  void fail(std::size_t length, const std::string& message) {
    const Place at = place(length);
    errors_.add(UserError(ErrorKind::syntax, message, {file_, at.line, at.column, at.length}));
    at_ += length;
  }

  void read() {
    const char c = peek();
    if (is_letter(c)) return read_name();
    if (is_digit(c)) return read_number();
    if (c == '.' && is_digit(peek(1))) return refuse_number(0);
    if (c == '/' && peek(1) == '/') {
      return fail(std::min(text_.find('\n', at_), text_.size()) - at_,
                  "`//` begins no comment; a comment begins with `#`, and a quotient is a / b");
    }
    for (std::string_view symbol : kLongSymbols) {
      if (text_.substr(at_, symbol.size()) == symbol) return push(TokenKind::symbol, symbol.size());
    }
    if (kSymbols.find(c) != std::string_view::npos) return push(TokenKind::symbol, 1);
    refuse_characters();
  }

  void read_name() {
    std::size_t length = 1;
    while (is_letter(peek(length)) || is_digit(peek(length))) ++length;
    while (peek(length) == '\'') ++length;
    push(TokenKind::name, length);
  }

  void read_number() {
    std::size_t length = digits(0);
    bool real = false;
    if (peek(length) == '.' && is_digit(peek(length + 1))) {
      real = true;
      length = digits(length + 1);
    }
    if (peek(length) == 'e' || peek(length) == 'E') {
      const bool sign = peek(length + 1) == '+' || peek(length + 1) == '-';
      if (is_digit(peek(length + 1 + sign))) {
        real = true;
        length = digits(length + 1 + sign);
      }
    }
    const bool stray_point = peek(length) == '.' && peek(length + 1) != '.';
    if (stray_point || is_letter(peek(length))) return refuse_number(length);
    push(real ? TokenKind::real : TokenKind::integer, length);
  }

  std::size_t digits(std::size_t from) const {
    while (is_digit(peek(from))) ++from;
    return from;
  }

  // Leaves a number in its place, so that the parser goes on.
  void refuse_number(std::size_t length) {
    while (is_letter(peek(length)) || is_digit(peek(length)) || peek(length) == '.') ++length;
    const std::string found(text_.substr(at_, std::min<std::size_t>(length, 40)));
    const Place at = place(length);
    errors_.add(UserError(ErrorKind::syntax,
                          "`" + found +
                              "` is not a number; a number is like 3, 0.5, 1.0 or 1e-3 (a digit "
                              "stands on both sides of the point)",
                          {file_, at.line, at.column, at.length}));
    push(TokenKind::real, length);
    tokens_.back().text = "1.0";
  }

  void refuse_characters() {
    std::size_t length = 1;
    const auto strange = [](char c) {
      return !is_space(c) && !is_letter(c) && !is_digit(c) && c != '#' &&
             kSymbols.find(c) == std::string_view::npos;
    };
    while (at_ + length < text_.size() && strange(peek(length))) ++length;
    const unsigned char c = static_cast<unsigned char>(peek());
    std::string shown = "`" + std::string(1, peek()) + "`";
    if (c < 0x20 || c >= 0x7F) {
      char hex[16];
      std::snprintf(hex, sizeof hex, "byte 0x%02X", c);
      shown = hex;
    }
    const bool ascii = c < 0x80;
    fail(length, shown + " has no meaning in this language outside of comments" +
                     (ascii ? instead_of(peek()) : "; names are of ASCII letters, digits and _"));
  }

  const std::string_view text_;
  const std::string& file_;
  ErrorList& errors_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& file, ErrorList& errors) {
  return Lexer(text, file, errors).run();
}

bool is_reserved(std::string_view text) {
  return std::find(kReserved.begin(), kReserved.end(), text) != kReserved.end();
}

bool is_name(std::string_view text) {
  if (text.empty() || !is_letter(text.front()) || is_reserved(text)) return false;
  std::size_t i = 0;
  while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]))) ++i;
  while (i < text.size() && text[i] == '\'') ++i;
  return i == text.size();
}

}  // namespace coconet::syntax
