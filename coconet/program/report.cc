#include "coconet/program/report.h"

#include <algorithm>
#include <optional>

namespace coconet {

void ErrorList::add(UserError error) {
  if (full()) return;
  const bool syntax = error.kind() == ErrorKind::syntax;
  if (syntax && !lines_.insert(error.where().line).second) return;
  errors_.push_back(std::move(error));
}

void ErrorList::throw_if_any() {
  if (errors_.empty()) return;
  std::stable_sort(errors_.begin(), errors_.end(), [](const UserError& a, const UserError& b) {
    const Where& x = a.where();
    const Where& y = b.where();
    return x.line != y.line ? x.line < y.line : x.column < y.column;
  });
  throw UserErrors(errors_);
}

namespace {

constexpr int kWidth = 120;  // bytes of a line that are shown

// None if there is no such line.
std::optional<std::string_view> line_of(std::string_view source, int number) {
  std::size_t begin = 0;
  for (int line = 1; line < number; ++line) {
    begin = source.find('\n', begin);
    if (begin == std::string_view::npos) return std::nullopt;
    ++begin;
  }
  std::string_view line = source.substr(begin, source.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the UTF-8 character that begins there; 0: none does.
int character_at(std::string_view text, int begin) {
  const auto first = static_cast<unsigned char>(text[begin]);
  const int size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first > 0xF4 || begin + size > static_cast<int>(text.size())) return 0;
  for (int i = 1; i < size; ++i) {
    if (!continues_character(text[begin + i])) return 0;
  }
  return size;
}

// The part of the line around the place, and marks under the place.
struct Excerpt {
  std::string text;
  std::string marks;
};

Excerpt excerpt_of(std::string_view line, int column, int length) {
  const int size = static_cast<int>(line.size());
  int begin = std::max(0, std::min(column - 1 - kWidth / 2, size - kWidth));
  while (begin > 0 && continues_character(line[begin])) --begin;
  const int end = std::min(size, begin + kWidth);
  Excerpt out;
  int whole = begin;  // up to there characters are whole
  for (int i = begin; i < end; ++i) {
    const char c = line[i];
    if (i >= whole) whole = i + character_at(line.substr(0, end), i);
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    out.text += (i < whole && !control) || c == '\t' ? c : '?';
    if (i >= column - 1) continue;
    if (i >= whole || !continues_character(c)) out.marks += c == '\t' ? '\t' : ' ';
  }
  const int room = std::max(1, end - (column - 1));
  out.marks += '^' + std::string(std::max(0, std::min(length, room) - 1), '~');
  return out;
}

}  // namespace

std::string render(const UserError& error, std::string_view source) {
  const Where& where = error.where();
  const std::string place = where.text();
  std::string out = (place.empty() ? "" : place + ": ") + "error: " + error.message() + "\n";
  if (!where.known() || where.column <= 0) return out;
  const std::optional<std::string_view> line = line_of(source, where.line);
  if (!line || where.column > static_cast<int>(line->size()) + 1) return out;
  std::string number = std::to_string(where.line);
  number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
  const Excerpt excerpt = excerpt_of(*line, where.column, where.length);
  out += number + " | " + excerpt.text + "\n";
  return out + std::string(number.size(), ' ') + " | " + excerpt.marks + "\n";
}

std::string render(const UserErrors& errors, std::string_view source) {
  std::string out;
  for (const UserError& error : errors.errors()) out += render(error, source);
  return out;
}

}  // namespace coconet
