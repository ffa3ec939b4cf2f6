#include <algorithm>

#include "coconet/source/cpp/kernel_printer.h"

namespace coconet::source::cpp {

using plan::Compute;
using plan::FoldPeers;
using plan::Level;
using plan::Load;
using plan::ReduceRun;
using plan::Statement;
using plan::Store;

void KernelPrinter::find_loops() {
  loop_.assign(kernel_.statements.size(), 0);
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    for (plan::ValueId input : at(id).inputs) loop_[id] = std::max(loop_[id], loop_[input.index]);
    if (is<ReduceRun>(id)) ++loop_[id];
    loops_ = std::max(loops_, loop_[id] + 1);
  }
}

void KernelPrinter::find_uses() {
  uses_.assign(kernel_.statements.size(), 0);
  needs_scratch_.assign(kernel_.statements.size(), false);
  for (Id id = 0; id < static_cast<Id>(uses_.size()); ++id) {
    for (plan::ValueId input : at(id).inputs) {
      ++uses_[input.index];
      const bool computed_in_loop = at(input.index).level == Level::element &&
                                    !is<Load>(input.index) && !at(input.index).per_peer;
      if (computed_in_loop && (is<ReduceRun>(id) || loop_[id] > loop_[input.index])) {
        needs_scratch_[input.index] = true;
      }
    }
    if (fills_tile(id)) needs_scratch_[id] = true;
  }
  for (const Store& store : kernel_.stores) {
    const Id id = store.value.index;
    uses_[id] += 2;
    if (at(id).level == Level::element && !is<Load>(id) && loop_[id] < loops_ - 1) {
      needs_scratch_[id] = true;
    }
  }
}

bool KernelPrinter::has_scratch(Id id) const { return needs_scratch_[id]; }

bool KernelPrinter::has_line(Id id) const {
  const Statement& statement = at(id);
  if (is<Load>(id)) return statement.level == Level::call && !statement.per_peer;
  if (is<FoldPeers>(id) || is<ReduceRun>(id) || across(id) || has_scratch(id)) return true;
  const Compute* compute = std::get_if<Compute>(&statement.action);
  if (compute && std::holds_alternative<Constant>(compute->op)) return false;
  if (!statement.per_peer && uses_[id] > 1) return true;
  if (statement.per_peer) return uses_[id] > 1;
  // What ends a named value has its line; what stands inside one does not.
  const bool named = !plan_.graph.node(statement.origin).name.empty();
  for (Id reader = id + 1; reader < static_cast<Id>(loop_.size()); ++reader) {
    for (plan::ValueId input : at(reader).inputs) {
      if (input.index != id) continue;
      if (at(reader).level != statement.level || loop_[reader] != loop_[id]) return true;
      return named && at(reader).origin != statement.origin;
    }
  }
  return true;
}

std::string KernelPrinter::wanted_name(Id id) const {
  if (const Load* load = is<Load>(id)) return plan_.buffer(load->buffer).name;
  const Statement& statement = at(id);
  bool last = true;
  for (Id other = id + 1; other < static_cast<Id>(loop_.size()); ++other) {
    last = last && at(other).origin != statement.origin;
  }
  const std::string& name = plan_.graph.node(statement.origin).name;
  return last && !name.empty() ? name : "v" + std::to_string(id);
}

void KernelPrinter::choose_names() {
  Names names(&buffers_.of_kernels);
  for (const Store& store : kernel_.stores) names.take(names_of(store.buffer));
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    const auto* compute = is<Compute>(id);
    if (!compute || !std::holds_alternative<Dropout>(compute->op)) continue;
    names.take("dropout_" + std::to_string(id));
    names.take("dropout_" + std::to_string(id) + "_words");
  }
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    const std::string wanted = has_line(id) ? wanted_name(id) : "";
    name_.push_back(!has_line(id) ? ""
                    : across(id)  ? names.fresh_buffer(wanted)
                                  : names.fresh(wanted));
  }
}

BufferNames::BufferNames(const plan::Plan& plan) {
  Names names;
  for (const plan::Buffer& buffer : plan.buffers) {
    const std::string& name = buffer.name;
    of.push_back(names.fresh_buffer(name.starts_with('#') ? "t" + name.substr(1) : name));
    for (const std::string& derived : derived_names(of.back())) of_kernels.take(derived);
    // A scalar's name is free for its value, unless the kernel stores it.
    if (!buffer.type.is_scalar()) of_kernels.take(of.back());
  }
}

}  // namespace coconet::source::cpp
