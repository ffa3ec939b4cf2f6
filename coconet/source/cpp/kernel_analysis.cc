#include <algorithm>
#include <set>

#include "coconet/source/cpp/kernel_printer.h"

namespace coconet::source::cpp {

using plan::Compute;
using plan::FoldBuffer;
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
  for (Id id = static_cast<Id>(loop_.size()) - 1; id >= 0; --id) {
    if (is_cast_load(id)) loop_[id] = std::max(loop_[id], first_reader(id));
  }
}

// Cheaper made again from memory than kept in a scratch.
bool KernelPrinter::is_cast_load(Id id) const {
  const Compute* compute = is<Compute>(id);
  return compute && std::holds_alternative<Cast>(compute->op) && !at(id).per_peer &&
         at(id).level == Level::element && is<Load>(at(id).inputs[0].index);
}

// The first loop that reads the value, or whose values a reduction that reads it folds; the loop
// that computes it if a store needs it.
int KernelPrinter::first_reader(Id id) const {
  int first = loops_;
  for (Id reader = id + 1; reader < static_cast<Id>(loop_.size()); ++reader) {
    const bool reads = std::ranges::count(at(reader).inputs, plan::ValueId{id}) > 0;
    if (reads) first = std::min(first, loop_[reader] - (is<ReduceRun>(reader) ? 1 : 0));
  }
  const bool stored = std::ranges::any_of(
      kernel_.stores, [&](const Store& store) { return store.value.index == id; });
  return stored || first == loops_ ? loop_[id] : first;
}

// A 16-bit value as the float that it is computed as: the same variable.
bool KernelPrinter::is_alias(Id id) const {
  const Compute* compute = is<Compute>(id);
  if (!compute || !std::holds_alternative<Cast>(compute->op) || at(id).per_peer) return false;
  const Id of = at(id).inputs[0].index;
  const DTypeKind from = at(of).dtype.kind, to = at(id).dtype.kind;
  return at(id).level == Level::element && at(of).level == Level::element && from != to &&
         accumulator_of(from) == to && !is<Load>(of) &&
         std::ranges::none_of(kernel_.stores,
                              [&](const Store& store) { return store.value.index == id; });
}

int KernelPrinter::origin_of(Id id) const {
  while (is_alias(id)) id = at(id).inputs[0].index;
  return id;
}

// What a reduction alone reads and what is quickly made, of one computed value at most, is made
// where it is reduced: a scratch of it is written and read for nothing.
void KernelPrinter::find_inlined() {
  inlined_.assign(kernel_.statements.size(), false);
  std::vector<int> readers(inlined_.size(), 0);
  for (Id id = 0; id < static_cast<Id>(inlined_.size()); ++id) {
    if (is_alias(id)) continue;
    for (plan::ValueId input : at(id).inputs) ++readers[origin_of(input.index)];
  }
  for (const Store& store : kernel_.stores) ++readers[store.value.index];
  for (Id id = 0; id < static_cast<Id>(inlined_.size()); ++id) {
    if (!is<ReduceRun>(id)) continue;
    const Id of = origin_of(at(id).inputs[0].index);
    inlined_[of] = readers[of] == 1 && at(of).level == Level::element && is_quickly_made(of);
  }
}

bool KernelPrinter::is_quickly_made(Id id) const {
  const Compute* compute = is<Compute>(id);
  if (!compute || at(id).per_peer) return false;
  const Pointwise* pointwise = std::get_if<Pointwise>(&compute->op);
  const bool quick = pointwise
                         ? pointwise->fn == PointwiseFn::add || pointwise->fn == PointwiseFn::sub ||
                               pointwise->fn == PointwiseFn::mul
                         : std::holds_alternative<Cast>(compute->op);
  std::set<int> computed;
  for (plan::ValueId input : at(id).inputs) {
    const Id of = origin_of(input.index);
    if (at(of).level == Level::element && !is<Load>(of)) computed.insert(of);
  }
  return quick && computed.size() <= 1;
}

// The loop, or reduction before it, whose text holds what computes the value.
int KernelPrinter::printed_in(Id id) const { return loop_[id] + (inlined_[id] ? 1 : 0); }

void KernelPrinter::find_uses() {
  uses_.assign(kernel_.statements.size(), 0);
  needs_scratch_.assign(kernel_.statements.size(), false);
  for (Id id = 0; id < static_cast<Id>(uses_.size()); ++id) {
    if (is_alias(id)) continue;
    for (plan::ValueId input : at(id).inputs) {
      const Id of = origin_of(input.index);
      ++uses_[of];
      const bool computed_in_loop =
          at(of).level == Level::element && !is<Load>(of) && !at(of).per_peer;
      if (computed_in_loop && !inlined_[of] && printed_in(id) > loop_[of]) {
        needs_scratch_[of] = true;
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

// A value whose elements go to this rank's own buffer in its very loop is read from there by later
// ones. Not if something later still reads what was there before.
void KernelPrinter::find_early_stores() {
  kept_in_.assign(kernel_.statements.size(), nullptr);
  for (const Store& store : kernel_.stores) {
    const Id id = store.value.index;
    const DTypeKind kind = plan_.buffer(store.buffer).type.dtype.kind;
    const bool own = is_element(store) && !reaches(store) && accumulator_of(kind) == kind;
    if (!own || is<Load>(id) || fills_tile(id) || loop_[id] == loops_ - 1) continue;
    if (kept_in_[id] || is_touched_after(store)) continue;
    kept_in_[id] = &store;
    needs_scratch_[id] = false;
  }
}

// The buffer is written elsewhere too, or read where its elements may not be what they were.
bool KernelPrinter::is_touched_after(const Store& store) const {
  for (const Store& other : kernel_.stores) {
    if (&other != &store && other.buffer == store.buffer) return true;
    const Load* load = is<Load>(other.value.index);
    if (load && load->buffer == store.buffer) return true;
  }
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    const FoldBuffer* fold = is<FoldBuffer>(id);
    if (fold && fold->buffer == store.buffer) return true;
    const Load* load = is<Load>(id);
    if (load && load->buffer == store.buffer && (at(id).level != Level::element || at(id).per_peer))
      return true;
    for (plan::ValueId input : at(id).inputs) {
      const Load* read = is<Load>(input.index);
      if (read && read->buffer == store.buffer && printed_in(id) > loop_[store.value.index])
        return true;
    }
  }
  return false;
}

bool KernelPrinter::has_scratch(Id id) const { return needs_scratch_[id]; }

bool KernelPrinter::has_line(Id id) const {
  const Statement& statement = at(id);
  if (is<Load>(id)) return statement.level == Level::call && !statement.per_peer;
  if (inlined_[id] || is_alias(id)) return false;
  if (is<FoldPeers>(id) || is<ReduceRun>(id) || across(id) || has_scratch(id) || kept_in_[id]) {
    return true;
  }
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
