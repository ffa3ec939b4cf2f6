// Two kinds of error, never one: UserError (the program, the schedule, the data, the machine) and
// InternalError (us).
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coconet {

// A place in a text file (line and column from 1; 0: unknown) or in C++ source (column 0).
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;  // characters to underline

  bool known() const { return line > 0; }
  std::string text() const;  // "file:line:column", "file:line", or ""
};

Where where_of(const std::source_location& location);

// The place of a call: in C++, or in the language that the call comes from.
struct CallSite {
  CallSite(const std::source_location& location)  // NOLINT: converts
      : where(where_of(location)) {}
  CallSite(Where where) : where(std::move(where)) {}  // NOLINT: converts
  Where where;
};

// What kind of failure, for `--json` and the exit code (1: program, schedule, data; 2: usage; 3:
// runtime).
enum class ErrorKind { type, syntax, schedule, data, unsupported, usage, runtime };

std::string_view name_of(ErrorKind kind);
int exit_code_of(ErrorKind kind);

// The message says what was found, what was needed, and what would be legal.
class UserError : public std::runtime_error {
 public:
  UserError(ErrorKind kind, std::string message, Where where = {});

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }  // without the place
  const Where& where() const { return where_; }
  // The same error with a place, if it had none.
  UserError at(const Where& where) const;

 private:
  ErrorKind kind_;
  std::string message_;
  Where where_;
};

// Several user errors found in one input, in the order of their places. Never empty.
class UserErrors : public std::runtime_error {
 public:
  explicit UserErrors(std::vector<UserError> errors);
  const std::vector<UserError>& errors() const { return errors_; }

 private:
  std::vector<UserError> errors_;
};

// A fault of this project; the message names the broken invariant.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message,
                         std::source_location at = std::source_location::current());
};

// Throws InternalError if `holds` is false. Always compiled in.
inline void check(bool holds, std::string_view invariant,
                  std::source_location at = std::source_location::current()) {
  if (!holds) throw InternalError(std::string(invariant), at);
}

}  // namespace coconet
