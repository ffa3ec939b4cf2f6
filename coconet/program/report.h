// How errors in a text are collected and shown.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coconet/base/error.h"

namespace coconet {

// The errors found so far in one text. Keeps the first kMost, and of syntax errors the first of a
// line: what follows it there is often only its echo.
class ErrorList {
 public:
  static constexpr std::size_t kMost = 100;

  void add(UserError error);
  bool empty() const { return errors_.empty(); }
  std::size_t size() const { return errors_.size(); }
  bool full() const { return errors_.size() >= kMost; }
  // Throws UserErrors, in the order of their places, if there are any.
  void throw_if_any();

 private:
  std::vector<UserError> errors_;
  std::set<int> lines_;  // with a syntax error
};

// "file:line:column: error: message", the line, and the place underlined:
//
//   tail.coco:9:11: error: `totl` is not a name; did you mean `total`?
//       9 |   drop  = dropout(totl + b, rate)
//         |                   ^~~~
//
// Without the line where `source` has none of that number.
std::string render(const UserError& error, std::string_view source);
// All of them, in the order given.
std::string render(const UserErrors& errors, std::string_view source);

}  // namespace coconet
