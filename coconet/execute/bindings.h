// The caller's memory of one rank, for the buffers that are staged (plan/staging.h).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::execute {

// UserError(usage) if `memory`, to be bound to `name`, reaches into `own`, where the runtime has
// `other`, which is not staged.
void need_apart(const std::string& name, std::span<const std::byte> memory,
                const std::string& other, std::span<const std::byte> own);

class Bindings {
 public:
  Bindings(const plan::BoundPlan& bound, int rank);  // keeps a reference

  bool has(int buffer) const { return bound_.plan->buffers[buffer].of_caller; }
  // The names under which memory is bound: of inputs, states and outputs, more than one of a buffer
  // that has several.
  std::vector<std::string> names() const;
  int buffer(const std::string& name) const { return places_.at(name).buffer; }
  std::size_t bytes(const std::string& name) const;      // of this rank's piece
  std::size_t alignment(const std::string& name) const;  // what an address is a multiple of

  // The buffer of that name stands there from now on; gives its index. UserError(usage) for a name
  // that is not staged, memory of another size, or at an address that its dtype may not have.
  int bind(const std::string& name, std::span<std::byte> memory);
  // Calls must not write the memory of that buffer, or may again.
  void hold_constant(int buffer, bool constant);
  // UserError(usage) if that has no memory.
  std::span<std::byte> memory(int buffer) const;
  // Before a call. UserError(usage) if a buffer has no memory, or two by two of its names, or
  // shares it with another while one of them is written; an output may stand in the memory of an
  // input that is not needed any more when it is written (plan/in_place.h), by the next call
  // either: that is not held constant.
  void check();

 private:
  struct Place {
    int buffer = -1;
    std::optional<std::span<std::byte>> memory;
  };
  struct Bound {
    const std::string* name;
    Place place;
  };
  void check_names() const;
  void check_apart(const Bound& one, const Bound& other) const;
  const TensorType& type(int buffer) const { return bound_.plan->buffers[buffer].type; }

  const plan::BoundPlan& bound_;
  int rank_;
  std::map<std::string, Place> places_;
  std::vector<bool> written_;   // by buffer
  std::vector<bool> constant_;  // by buffer
  bool checked_ = false;
};

}  // namespace coconet::execute
