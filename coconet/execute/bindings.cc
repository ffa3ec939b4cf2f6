#include "coconet/execute/bindings.h"

#include <algorithm>
#include <cstdint>

#include "coconet/base/nearest.h"
#include "coconet/plan/in_place.h"

namespace coconet::execute {

void need_apart(const std::string& name, std::span<const std::byte> memory,
                const std::string& other, std::span<const std::byte> own) {
  const auto before = [](std::span<const std::byte> x, std::span<const std::byte> y) {
    return x.data() + x.size() <= y.data();
  };
  if (memory.empty() || own.empty() || before(memory, own) || before(own, memory)) return;
  throw UserError(ErrorKind::usage, "the memory bound to " + name +
                                        " is the runtime's own, where " + other +
                                        " stands; needed is the caller's (to share it, " + "name " +
                                        other + " in PlanOptions::staged and bind both)");
}

Bindings::Bindings(const plan::BoundPlan& bound, int rank)
    : bound_(bound),
      rank_(rank),
      written_(plan::written_buffers(*bound.plan)),
      constant_(written_.size(), false) {
  const plan::Plan& plan = *bound.plan;
  for (const plan::PlanOutput& output : plan.outputs) {
    if (has(output.buffer.index)) places_[output.name] = {output.buffer.index, {}};
  }
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    if (buffer.role == plan::BufferRole::temporary) continue;
    places_.erase(buffer.name);  // an input goes before an output of its name
    if (buffer.of_caller) places_[buffer.name] = {b, {}};
  }
}

std::vector<std::string> Bindings::names() const {
  std::vector<std::string> out;
  for (const auto& [name, place] : places_) out.push_back(name);
  return out;
}

std::size_t Bindings::bytes(const std::string& name) const {
  const TensorType& held = type(places_.at(name).buffer);
  return static_cast<std::size_t>(bound_.piece(held, rank_).count() * size_of(held.dtype.kind));
}

std::size_t Bindings::alignment(const std::string& name) const {
  return static_cast<std::size_t>(size_of(type(places_.at(name).buffer).dtype.kind));
}

int Bindings::bind(const std::string& name, std::span<std::byte> memory) {
  const auto found = places_.find(name);
  if (found == places_.end()) {
    throw UserError(
        ErrorKind::usage,
        "bind: " + name + " is not staged; staged are " + listed(names()) +
            "; the names are given where the plan is made (PlanOptions::staged, coconet "
            "build --staged)");
  }
  Place& place = found->second;
  const std::size_t needed = bytes(name);
  const std::string of =
      "bind: " + name + ", " + type(place.buffer).text(bound_.plan->graph.mesh());
  if (memory.size() != needed) {
    throw UserError(ErrorKind::usage, of + ", takes " + std::to_string(needed) + " bytes on rank " +
                                          std::to_string(rank_) + "; found memory of " +
                                          std::to_string(memory.size()) + " bytes");
  }
  const std::size_t size = alignment(name);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  if (needed > 0 && (address == 0 || address % size != 0)) {
    throw UserError(ErrorKind::usage, of + ", needs memory at a multiple of " +
                                          std::to_string(size) + " bytes; found the address " +
                                          std::to_string(address));
  }
  place.memory = memory;
  checked_ = false;
  return place.buffer;
}

void Bindings::hold_constant(int buffer, bool constant) {
  if (constant_[buffer] == constant) return;
  constant_[buffer] = constant;
  checked_ = false;
}

std::span<std::byte> Bindings::memory(int buffer) const {
  const std::string* name = nullptr;
  for (const auto& [other, place] : places_) {
    if (place.buffer != buffer) continue;
    if (place.memory) return *place.memory;
    name = &other;
  }
  throw UserError(ErrorKind::usage, (name ? *name : bound_.plan->buffers[buffer].name) +
                                        " is staged, and no memory has been bound to it");
}

void Bindings::check_names() const {
  std::map<int, Bound> of;  // by buffer
  std::vector<std::string> without;
  for (const auto& [name, place] : places_) {
    if (!place.memory) continue;
    const auto [first, fresh] = of.try_emplace(place.buffer, Bound{&name, place});
    if (fresh || first->second.place.memory->data() == place.memory->data()) continue;
    throw UserError(ErrorKind::usage, *first->second.name + " and " + name +
                                          " are names of one buffer, and have been bound to "
                                          "different memory; bind one of them, or both to one");
  }
  for (const auto& [name, place] : places_) {
    if (!of.contains(place.buffer)) without.push_back(name);
  }
  if (without.empty()) return;
  throw UserError(ErrorKind::usage,
                  "a call needs memory for all that is staged; none has been bound to " +
                      listed(without) + " on rank " + std::to_string(rank_));
}

void Bindings::check_apart(const Bound& one, const Bound& other) const {
  const int a = one.place.buffer, b = other.place.buffer;
  if (a == b || (!written_[a] && !written_[b])) return;
  const bool same = one.place.memory->data() == other.place.memory->data() &&
                    one.place.memory->size() == other.place.memory->size();
  if (same && written_[a] != written_[b]) {
    const auto [read, written] = written_[a] ? std::pair(b, a) : std::pair(a, b);
    if (constant_[read]) {
      throw UserError(ErrorKind::usage,
                      *one.name + " and " + *other.name + " have been bound to one memory, and " +
                          (read == a ? *one.name : *other.name) +
                          " is held constant, so no call may write it; bind them to memory apart, "
                          "or do not hold it constant");
    }
    if (plan::may_share_memory(*bound_.plan, {read}, {written})) return;
  }
  throw UserError(ErrorKind::usage,
                  *one.name + " and " + *other.name + " have been bound to memory that overlaps" +
                      (same ? "" : " in part") +
                      ", and one of them is written while the other is still needed; bind them to "
                      "memory apart");
}

void Bindings::check() {
  if (checked_) return;
  check_names();
  std::vector<Bound> order;
  for (const auto& [name, place] : places_) {
    if (place.memory && !place.memory->empty()) order.push_back({&name, place});
  }
  std::sort(order.begin(), order.end(), [](const Bound& a, const Bound& b) {
    return std::less<>()(a.place.memory->data(), b.place.memory->data());
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::byte* end = order[i].place.memory->data() + order[i].place.memory->size();
    for (std::size_t j = i + 1; j < order.size() && order[j].place.memory->data() < end; ++j) {
      check_apart(order[i], order[j]);
    }
  }
  checked_ = true;
}

}  // namespace coconet::execute
