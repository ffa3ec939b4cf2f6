#include "coconet/simulate/kernel_turn.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "coconet/base/error.h"
#include "coconet/kernel/dropout.h"

namespace coconet::simulate {

using interp::ScalarValue;
using plan::Level;

namespace {

constexpr std::size_t kStretch = 32;  // the least elements of a step that is not a whole run
constexpr std::size_t kSteps = 4;     // how many steps a run makes at most
constexpr int kLanes = 16;            // docs/numerics.md

}  // namespace

KernelTurn::KernelTurn(const Context& context, const plan::Turn& turn, int rank,
                       const plan::Kernel& kernel)
    : context_(context),
      bound_(context.bound),
      turn_(turn),
      rank_(rank),
      actor_{rank, &turn, context.call},
      kernel_(kernel),
      visit_(plan::visit_of(bound_, kernel, turn, rank)),
      needed_(kernel.statements.size(), false),
      values_(kernel.statements.size()) {
  cut_into_segments();
  find_needed();
}

void KernelTurn::cut_into_segments() {
  const bool whole_runs =
      std::any_of(kernel_.statements.begin(), kernel_.statements.end(),
                  [](const plan::Statement& s) { return s.level == Level::run; });
  for (const plan::Run& run : visit_.runs) {
    const std::size_t length = run.end - run.begin;
    const std::size_t stretch = std::max(kStretch, (length + kSteps - 1) / kSteps);
    for (std::size_t begin = run.begin; !whole_runs && begin < run.end; begin += stretch) {
      segments_.push_back({begin, std::min(run.end, begin + stretch), run});
    }
    if (whole_runs) segments_.push_back({run.begin, run.end, run});
  }
}

bool KernelTurn::performs(const plan::Store& store) const {
  if (statement(store.value.index).level != Level::call) return !segments_.empty();
  if (turn_.chunk != bound_.chunks_of(turn_.launch) - 1) return false;
  if (store.all || store.to) return !visit_.away;
  return context_.piece(store.buffer, rank_).count() > 0;
}

void KernelTurn::find_needed() {
  for (const plan::Store& store : kernel_.stores) {
    if (performs(store)) needed_[store.value.index] = true;
  }
  for (int i = static_cast<int>(kernel_.statements.size()) - 1; i >= 0; --i) {
    if (!needed_[i]) continue;
    for (plan::ValueId input : statement(i).inputs) needed_[input.index] = true;
  }
}

bool KernelTurn::step() {
  if (!begun_) perform(Level::call, Level::call);
  begun_ = true;
  if (next_ < segments_.size()) {
    segment_ = segments_[next_++];
    perform(Level::run, Level::element);
    store_values(Level::run, Level::element);
  }
  if (next_ < segments_.size()) return false;
  store_values(Level::call, Level::call);
  return true;
}

void KernelTurn::perform(Level from, Level to) {
  for (int i = 0; i < static_cast<int>(kernel_.statements.size()); ++i) {
    const Level level = statement(i).level;
    if (needed_[i] && !statement(i).per_peer && from <= level && level <= to) {
      evaluate(i, kNoPeer);
    }
  }
}

void KernelTurn::store_values(Level from, Level to) {
  for (const plan::Store& store : kernel_.stores) {
    const Level level = statement(store.value.index).level;
    if (level < from || level > to || !performs(store)) continue;
    for (int owner : plan::written_by(bound_, store, rank_)) {
      const bool zeros = store.to && owner == rank_ && !receives(*store.to);
      for (std::size_t i = 0; i < count_of(level); ++i) {
        ScalarValue stored = value(store.value, i);
        if (zeros) stored = interp::cast(interp::scalar(0.0), stored.kind);
        const std::int64_t at = place(level, i, store.buffer, owner);
        if (store.held && at < 0) continue;
        context_.memory.write(actor_, store.buffer, owner, at, stored);
      }
    }
  }
}

bool KernelTurn::receives(const Shift& shift) const {
  return bound_.mesh.shifted(rank_, shift.axes[0], -std::int64_t{shift.by}, shift.wrap).has_value();
}

const ScalarValue& KernelTurn::value(plan::ValueId id, std::size_t i) const {
  return values_[id.index].at(statement(id.index).level == Level::element ? i : 0);
}

std::int64_t KernelTurn::place(Level level, std::size_t i, plan::BufferId buffer, int owner) const {
  const Piece& piece = context_.piece(buffer, owner);
  const TensorType& type = bound_.plan->buffer(buffer).type;
  switch (level) {
    case Level::call: return 0;
    case Level::run: return plan::held_at(piece, plan::place_of(segment_.run, type, kernel_));
    case Level::element: return plan::held_at(piece, visit_.elements[segment_.begin + i]);
  }
  throw InternalError("a Level outside its enumerators");
}

std::int64_t KernelTurn::flat(Level level, std::size_t i, NodeId node) const {
  if (level == Level::call) return 0;
  const auto sizes = coconet::bind(bound_.plan->graph.node(node).type.shape, bound_.sizes);
  return plan::flat_at(sizes,
                       level == Level::run ? segment_.run.at : visit_.elements[segment_.begin + i]);
}

void KernelTurn::evaluate(int index, int peer) {
  const plan::Statement& s = statement(index);
  values_[index].assign(count_of(s.level), ScalarValue{});
  std::visit(
      Overloaded{
          [&](const plan::Load& load) { this->load(index, load.buffer, peer); },
          [&](const plan::FoldPeers& fold) { fold_peers(index, fold); },
          [&](const plan::Compute& compute) { this->compute(index, compute, peer); },
          [&](const plan::ReduceRun& reduce) { values_[index][0] = fold_run(s, reduce.fold); },
          [&](const plan::Count& count) { this->count(index, count); },
          [&](const plan::FoldBuffer& fold) { fold_buffer(index, fold); },
      },
      s.action);
  for (const ScalarValue& value : values_[index]) {
    check(value.kind == s.dtype.kind, "a statement's value has its dtype");
  }
}

void KernelTurn::load(int index, plan::BufferId buffer, int peer) {
  const plan::Statement& s = statement(index);
  check(!s.per_peer || peer != kNoPeer, "a per-peer load is inside a fold");
  const int owner = s.per_peer ? peer : rank_;
  for (std::size_t i = 0; i < values_[index].size(); ++i) {
    values_[index][i] =
        context_.memory.read(actor_, buffer, owner, place(s.level, i, buffer, owner));
  }
}

std::vector<int> KernelTurn::needs_of(int fold) const {
  std::vector<bool> needed(kernel_.statements.size(), false);
  needed[fold] = true;
  for (int i = fold; i >= 0; --i) {
    if (!needed[i]) continue;
    for (plan::ValueId input : statement(i).inputs) {
      if (statement(input.index).per_peer) needed[input.index] = true;
    }
  }
  std::vector<int> out;
  for (int i = 0; i < fold; ++i) {
    if (needed[i]) out.push_back(i);
  }
  return out;
}

// Rank order, from rank 0's value, in the accumulator; rounded once.
void KernelTurn::fold_peers(int index, const plan::FoldPeers& fold) {
  const plan::Statement& s = statement(index);
  const DTypeKind wide = accumulator_of(s.dtype.kind);
  const std::vector<int> needs = needs_of(index);
  std::vector<ScalarValue> totals(count_of(s.level));
  bool first = true;
  for (int peer : bound_.mesh.group(rank_, fold.axes)) {
    for (int need : needs) evaluate(need, peer);
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const ScalarValue next = interp::cast(value(s.inputs.at(0), i), wide);
      totals[i] = first ? next : interp::fold_step(fold.fold, totals[i], next);
    }
    first = false;
  }
  for (std::size_t i = 0; i < totals.size(); ++i) {
    values_[index][i] = interp::cast(totals[i], s.dtype.kind);
  }
}

void KernelTurn::compute(int index, const plan::Compute& compute, int peer) {
  const plan::Statement& s = statement(index);
  if (const auto* dropout = std::get_if<Dropout>(&compute.op)) {
    drop_out(index, *dropout, peer);
    return;
  }
  std::array<ScalarValue, 3> inputs;
  check(s.inputs.size() <= inputs.size(), "a computation has three operands at most");
  const auto constant = [&](const auto&) -> ScalarValue {
    throw InternalError("a statement computes " + std::string(name_of(compute.op)));
  };
  for (std::size_t i = 0; i < values_[index].size(); ++i) {
    for (std::size_t j = 0; j < s.inputs.size(); ++j) inputs[j] = value(s.inputs[j], i);
    values_[index][i] =
        std::visit(Overloaded{
                       [&](const Pointwise& op) { return interp::apply(op.fn, inputs.data()); },
                       [&](const Cast& op) { return interp::cast(inputs[0], op.to.kind); },
                       [&](const Constant& op) { return interp::value_of(op); },
                       [&](const AxisSize& op) { return interp::value_of(op, bound_.mesh); },
                       [&](const DimSize& op) { return interp::value_of(op, bound_.sizes); },
                       [&](const AsPartial& op) {
                         return partial(op, inputs[0], peer == kNoPeer ? rank_ : peer);
                       },
                       constant,
                   },
                   compute.op);
  }
}

ScalarValue KernelTurn::partial(const AsPartial& op, const ScalarValue& value, int rank) const {
  const std::vector<int> at = bound_.mesh.coordinates(rank);
  const bool holds =
      std::all_of(op.axes.begin(), op.axes.end(), [&](int axis) { return at[axis] == 0; });
  return holds ? value : interp::identity(op.fold, value.kind);
}

// The key has the coordinates of the rank whose value is dropped, on the axes on which it is local.
void KernelTurn::drop_out(int index, const Dropout& op, int peer) {
  const plan::Statement& s = statement(index);
  const Graph& graph = bound_.plan->graph;
  const Node& node = graph.node(s.origin);
  check(std::holds_alternative<Dropout>(node.op), "a dropout comes from a dropout");
  const std::vector<int> at = bound_.mesh.coordinates(peer == kNoPeer ? rank_ : peer);
  std::vector<std::int64_t> local;
  for (int axis : graph.node(node.inputs[0]).type.layout.axes_that_are<Local>()) {
    local.push_back(at[axis]);
  }
  const std::uint64_t hash = kernel::coordinate_hash(local.data(), static_cast<int>(local.size()));
  for (std::size_t i = 0; i < values_[index].size(); ++i) {
    const float rate = interp::cast(value(s.inputs.at(1), i), DTypeKind::f32).f32;
    if (!kernel::valid_rate(rate)) {
      throw UserError(
          ErrorKind::data,
          "dropout's probability is " + std::to_string(rate) + "; it must be from 0 to 1",
          node.where);
    }
    const kernel::Dropout dropout(context_.seed, context_.call_number,
                                  static_cast<std::uint64_t>(op.site), hash, rate);
    const auto element = static_cast<std::uint64_t>(flat(s.level, i, s.origin));
    const ScalarValue& x = value(s.inputs[0], i);
    values_[index][i] = x.kind == DTypeKind::f64
                            ? interp::scalar(dropout.apply(x.f64, element))
                            : interp::cast(interp::scalar(dropout.apply(x.f32, element)), x.kind);
  }
}

// 16 lanes by place in the run, each from the identity; then lanes 0..15 from the left.
ScalarValue KernelTurn::fold_run(const plan::Statement& s, Fold fold) const {
  std::array<ScalarValue, kLanes> lanes;
  lanes.fill(interp::identity(fold, s.dtype.kind));
  const bool list = segment_.run.member >= 0;
  const std::size_t count = list ? static_cast<std::size_t>(segment_.run.valid) : segment_.size();
  for (std::size_t i = 0; i < count; ++i) {
    ScalarValue& lane = lanes[i % kLanes];
    lane = interp::fold_step(fold, lane, value(s.inputs.at(0), i));
  }
  ScalarValue total = lanes[0];
  for (int l = 1; l < kLanes; ++l) total = interp::fold_step(fold, total, lanes[l]);
  return total;
}

// From the first on, in the accumulator; rounded once.
ScalarValue KernelTurn::fold_at(const plan::Statement& s, const plan::FoldBuffer& fold,
                                const std::vector<std::int64_t>& places) const {
  const DTypeKind wide = accumulator_of(s.dtype.kind);
  ScalarValue total = interp::identity(fold.fold, wide);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ScalarValue next =
        interp::cast(context_.memory.read(actor_, fold.buffer, rank_, places[i]), wide);
    total = i == 0 ? next : interp::fold_step(fold.fold, total, next);
  }
  return interp::cast(total, s.dtype.kind);
}

ScalarValue KernelTurn::fold_part(const plan::Statement& s, const plan::FoldBuffer& fold,
                                  std::int64_t begin, std::int64_t end) const {
  std::vector<std::int64_t> places(end - begin);
  std::iota(places.begin(), places.end(), begin);
  return fold_at(s, fold, places);
}

void KernelTurn::fold_members(int index, const plan::FoldBuffer& fold, const ListBlocks& list) {
  const plan::Statement& s = statement(index);
  for (std::size_t i = 0; i < values_[index].size(); ++i) {
    std::vector<std::int64_t> places(list.first_block().begin(), list.first_block().end() - 1);
    for (std::int64_t& place : places) place = place * kBlock + flat(s.level, i, s.origin);
    values_[index][i] = fold_at(s, fold, places);
  }
}

void KernelTurn::fold_buffer(int index, const plan::FoldBuffer& fold) {
  const plan::Statement& s = statement(index);
  if (s.level == Level::call) {
    const std::int64_t count = context_.piece(fold.buffer, rank_).count();
    values_[index][0] = fold_part(s, fold, 0, count);
    return;
  }
  const Dim& packed = bound_.plan->buffer(fold.buffer).type.shape[0];
  const ListBlocks list(packed.elements(), bound_.sizes);
  if (bound_.plan->is_across_members(fold)) return fold_members(index, fold, list);
  for (std::size_t i = 0; i < values_[index].size(); ++i) {
    const std::int64_t member = visit_.elements[segment_.begin + i][0];
    values_[index][i] =
        fold_part(s, fold, list.first_block()[member], list.first_block()[member + 1]);
  }
}

void KernelTurn::count(int index, const plan::Count& count) {
  const plan::Statement& s = statement(index);
  const auto value = [&](std::int64_t elements) {
    return interp::cast(interp::scalar(elements), s.dtype.kind);
  };
  if (s.level == Level::call) {
    values_[index][0] = value(product_of(count.shape).bind(bound_.sizes));
    return;
  }
  const ListBlocks list(count.shape[0].elements(), bound_.sizes);
  for (std::size_t i = 0; i < values_[index].size(); ++i) {
    values_[index][i] = value(list.elements()[visit_.elements[segment_.begin + i][0]]);
  }
}

}  // namespace coconet::simulate
