// An error on its way from one rank to another or to the parent: as a value, and as a record of
// fixed size in shared memory.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "coconet/base/error.h"

namespace coconet::runtime {

struct RankError {
  bool internal = false;  // an InternalError, or an exception of a type we do not know
  ErrorKind kind = ErrorKind::runtime;
  std::string message;
  Where where;

  // Throws it as UserError of its kind, or as InternalError.
  [[noreturn]] void raise() const;
};

// What a caught exception says; a lack of memory or a refusal of the system is a runtime UserError.
// Where no memory is left to say it with, that is what is said.
RankError rank_error_of(const std::exception_ptr& exception) noexcept;

// Runs a caller's code. What it throws that is no error of this library, nor one that the system
// gives, is a UserError(runtime) that says so of `what`, such as "the function of rank 1".
void call_foreign(const std::string& what, const std::function<void()>& code);

// Plain memory, all zeros at the start. The writer publishes it by a release store of its own; text
// that does not fit is cut and ends in "...".
struct StoredError {
  bool internal;
  ErrorKind kind;
  int line, column, length;
  char file[256];
  char message[3072];

  void store(const RankError& error);
  RankError load() const;
};

}  // namespace coconet::runtime
