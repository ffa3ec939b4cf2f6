#include "coconet/base/error.h"

namespace coconet {

std::string Where::text() const {
  if (!known()) return file;
  std::string out = file.empty() ? std::to_string(line) : file + ":" + std::to_string(line);
  if (column > 0) out += ":" + std::to_string(column);
  return out;
}

Where where_of(const std::source_location& location) {
  return {location.file_name(), static_cast<int>(location.line()), 0, 1};
}

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::type: return "type";
    case ErrorKind::syntax: return "syntax";
    case ErrorKind::schedule: return "schedule";
    case ErrorKind::data: return "data";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::usage: return "usage";
    case ErrorKind::runtime: return "runtime";
  }
  throw InternalError("an ErrorKind outside its enumerators");
}

int exit_code_of(ErrorKind kind) {
  if (kind == ErrorKind::usage) return 2;
  return kind == ErrorKind::runtime ? 3 : 1;
}

namespace {

std::string with_place(const std::string& message, const Where& where) {
  const std::string place = where.text();
  return place.empty() ? message : place + ": " + message;
}

std::string joined(const std::vector<UserError>& errors) {
  std::string out;
  for (const UserError& error : errors) {
    if (!out.empty()) out += '\n';
    out += error.what();
  }
  return out;
}

// A word of a message, as a name in a file, may be as long as the file.
std::string with_short_words(const std::string& message) {
  constexpr std::size_t kLongest = 255, kShown = 40;
  std::string out;
  for (std::size_t begin = 0, end = 0; begin < message.size(); begin = end) {
    const auto in_word = [&](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    while (end < message.size() && in_word(message[end])) ++end;
    const std::size_t length = end - begin;
    out.append(message, begin, length > kLongest ? kShown : length);
    if (length > kLongest) out += "...";
    while (end < message.size() && !in_word(message[end])) out += message[end++];
  }
  return out;
}

}  // namespace

UserError::UserError(ErrorKind kind, std::string message, Where where)
    : std::runtime_error(with_place(with_short_words(message), where)),
      kind_(kind),
      message_(with_short_words(message)),
      where_(std::move(where)) {}

UserError UserError::at(const Where& where) const {
  return where_.known() ? *this : UserError(kind_, message_, where);
}

UserErrors::UserErrors(std::vector<UserError> errors)
    : std::runtime_error(joined(errors)), errors_(std::move(errors)) {
  check(!errors_.empty(), "UserErrors holds at least one error");
}

InternalError::InternalError(const std::string& message, std::source_location at)
    : std::logic_error(std::string(at.file_name()) + ":" + std::to_string(at.line()) +
                       ": internal error: " + message) {}

}  // namespace coconet
