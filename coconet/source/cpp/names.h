// C++ identifiers for the names of a program, which may be any words.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace coconet::source::cpp {

// Each given once: drop' becomes drop_p, a taken or reserved one gets a number. None is a keyword,
// a macro of the kernel headers, or the name of what generated code uses where values have names.
class Names {
 public:
  Names();
  // Names beside those of `outer`, which stays as it is and outlives them.
  explicit Names(const Names* outer) : outer_(outer) {}
  std::string fresh(const std::string& wanted);
  // For a buffer: what kernels make of its name (`derived_names`) is free as well, and taken.
  std::string fresh_buffer(const std::string& wanted);
  // Never to be given: an identifier as it stands, made elsewhere.
  void take(const std::string& name) { taken_.insert(name); }

 private:
  bool insert(const std::string& name) {
    return !(outer_ && outer_->taken_.contains(name)) && taken_.insert(name).second;
  }

  const Names* outer_ = nullptr;
  std::set<std::string> taken_;
};

// What kernels call the parts of a buffer: x gives x_i, at_x, to_x, held_x.
std::vector<std::string> derived_names(const std::string& buffer);

// The function in namespace dim of a dim: the same for the same name, another for every other.
std::string dim_name(const std::string& name);

}  // namespace coconet::source::cpp
