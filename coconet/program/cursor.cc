#include "coconet/program/cursor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace coconet::syntax {

Cursor::Cursor(std::string_view text, std::string file, ErrorList& errors)
    : file_(std::move(file)), errors_(errors), tokens_(tokens_of(text, file_, errors)) {}

const Token& Cursor::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Where Cursor::where(const Place& place) const {
  return {file_, place.line, place.column, place.length};
}

void Cursor::fail(const Place& place, const std::string& message) const {
  throw UserError(ErrorKind::syntax, message, where(place));
}

Place Cursor::missing_place() const {
  const Token& token = peek();
  if (at_ == 0 || !token.first_on_line) return token.place;
  const Place& before = last_place();
  return {before.line, before.column + before.length, 1};
}

std::string Cursor::shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the file";
  return "`" + std::string(token.text.substr(0, 40)) + "`";
}

Token Cursor::advance() {
  const Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Cursor::accept(std::string_view wanted) {
  if (!is(wanted)) return false;
  advance();
  return true;
}

Token Cursor::expect(std::string_view wanted, std::string_view why) {
  if (!is(wanted)) {
    fail(missing_place(), "found " + shown(peek()) + " where `" + std::string(wanted) +
                              "` is needed " + std::string(why));
  }
  return advance();
}

Word Cursor::expect_name(std::string_view what) {
  const Token& token = peek();
  if (token.kind != TokenKind::name || at_item()) {
    fail("found " + shown(token) + " where " + std::string(what) + " is needed");
  }
  if (is_reserved(token.text)) {
    fail(shown(token) + " is a word of the language; " + std::string(what) + " is needed here");
  }
  const Token taken = advance();
  return {std::string(taken.text), taken.place};
}

std::int64_t Cursor::expect_integer(std::string_view what) {
  if (peek().kind != TokenKind::integer) {
    fail("found " + shown(peek()) + " where " + std::string(what) + ", an integer, is needed");
  }
  const Token token = advance();
  return integer_of(token.text, where(token.place));
}

std::vector<Word> Cursor::names(std::string_view what) {
  std::vector<Word> out = {expect_name(what)};
  while (accept(",")) out.push_back(expect_name(what));
  return out;
}

Slice Cursor::slice() {
  Slice out = Slice::all();
  if (!accept("*")) {
    const auto dim = [this] {
      const Place place = peek().place;
      const std::int64_t d = expect_integer("a dim (or `*`) of a slice");
      if (d > std::numeric_limits<int>::max()) fail(place, "no tensor has so many dims");
      return static_cast<int>(d);
    };
    const Place place = peek().place;
    const int first = dim();
    const int last = accept("..") ? dim() : first;
    if (last < first) {
      fail(span(place, last_place()), "a slice goes from a lower dim to a higher one: (" +
                                          std::to_string(last) + ".." + std::to_string(first) +
                                          ")");
    }
    out = Slice::range(first, last);
  }
  expect(")", "after a slice");
  return out;
}

Fold Cursor::fold() {
  for (Fold fold : {Fold::sum, Fold::max, Fold::min, Fold::prod}) {
    if (accept(name_of(fold))) return fold;
  }
  fail("found " + shown(peek()) + " where a fold is needed: +, max, min or prod");
}

bool Cursor::at_item() const {
  constexpr std::array<std::string_view, 8> kItems = {"mesh", "dim",     "dtype",    "require",
                                                      "def",  "program", "schedule", "choice"};
  const Token& token = peek();
  const Token& next = peek(1);
  const bool value = next.is("=") || next.is(":") || next.is(",");  // of the name `require`
  return token.first_on_line && token.kind == TokenKind::name &&
         std::find(kItems.begin(), kItems.end(), token.text) != kItems.end() &&
         (next.kind == TokenKind::name || (token.text == "require" && !value));
}

bool Cursor::at_statement() const {
  const Token& token = peek();
  if (!token.first_on_line || token.kind != TokenKind::name) return false;
  return is("return") || (is("overlapped") && peek(2).is("{")) || peek(1).is("=") ||
         peek(1).is(",") || peek(1).is(":");
}

void Cursor::skip_to_item(std::size_t began) {
  while (!at_end() && (at_ == began || !at_item())) advance();
}

void Cursor::skip_to_statement(std::size_t began) {
  int depth = 0;
  while (!at_end()) {
    const bool moved = at_ > began;
    if (moved && at_item()) return;
    if (depth == 0 && is("}")) return;
    if (depth == 0 && moved && at_statement()) return;
    if (is("{")) ++depth;
    if (is("}")) --depth;
    if (advance().is(";") && depth == 0) return;
  }
}

std::int64_t integer_of(std::string_view digits, const Where& where) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw UserError(ErrorKind::syntax, "an integer fits in 63 bits", where);
  }
  return value;
}

}  // namespace coconet::syntax
