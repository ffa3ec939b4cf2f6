// Errors as Python exceptions, with the text that the tool prints; places in Python source.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "coconet/base/error.h"

namespace coconet::python {

// coconet.Error and coconet.InternalError, and how what is thrown becomes one of them.
void bind_errors(nanobind::module_& module);

// Raised as coconet.Error; `source` is the text that its places are in.
class ErrorsIn : public std::exception {
 public:
  ErrorsIn(UserErrors errors, std::string source)
      : errors_(std::move(errors)), source_(std::move(source)) {}
  const UserErrors& errors() const { return errors_; }
  const std::string& source() const { return source_; }

 private:
  UserErrors errors_;
  std::string source_;
};

// The innermost line of Python that is not this package's own.
CallSite caller();

}  // namespace coconet::python
