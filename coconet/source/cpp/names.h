// C++ identifiers for the names of a program, which may be any words.
#pragma once

#include <set>
#include <string>

namespace coconet::source::cpp {

// Each given once: drop' becomes drop_p, a taken or reserved one gets a number. None is a keyword,
// a macro of the kernel headers, or the name of what generated code uses where values have names.
class Names {
 public:
  explicit Names(std::set<std::string> taken = {});
  std::string fresh(const std::string& wanted);
  // Never to be given: an identifier as it stands, made elsewhere.
  void take(const std::string& name) { taken_.insert(name); }

 private:
  std::set<std::string> taken_;
};

// The function in namespace dim of a dim: the same for the same name, another for every other.
std::string dim_name(const std::string& name);

}  // namespace coconet::source::cpp
