// What each element in memory is made of: performs the plan with, in place of numbers, the rank
// whose piece a value is on each axis.
#include <algorithm>
#include <map>
#include <optional>

#include "coconet/plan/places.h"
#include "coconet/plan/verify.h"
#include "coconet/plan/visit.h"

namespace coconet::plan {
namespace {

constexpr int kWhole = -1;
// By axis: the coordinate of the one rank whose piece of a partial or local tensor the value is, or
// kWhole.
using Made = std::vector<int>;

struct Cell {
  BufferId written_as;
  std::int64_t element = -1;              // of that buffer
  int made = -1;                          // index of the Made
  int launch = -1, rank = -1, chunk = 0;  // of the write; launch -1: the caller's
};

// A number for each of the few Mades that there are.
class Mades {
 public:
  int index_of(const Made& made) {
    const auto [at, fresh] = index_.try_emplace(made, static_cast<int>(mades_.size()));
    if (fresh) mades_.push_back(made);
    return at->second;
  }
  const Made& operator[](int index) const { return mades_.at(index); }

 private:
  std::map<Made, int> index_;
  std::vector<Made> mades_;
};

class ContributionVerifier {
 public:
  explicit ContributionVerifier(const BoundPlan& bound)
      : bound_(bound),
        plan_(*bound.plan),
        ranks_(bound.mesh.ranks()),
        cells_(plan_.buffers.size()),
        places_(places_of(bound)) {
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      std::vector<std::vector<Cell>>& slot = cells_.at(buffer.slot);
      slot.resize(ranks_);
      const auto count = static_cast<std::size_t>(places_[b].memory());
      for (std::vector<Cell>& own : slot) own.resize(std::max(own.size(), count));
      pieces_.push_back(pieces_of(bound, BufferId{b}));
    }
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      if (plan_.buffers[b].role == BufferRole::temporary) continue;
      for (int rank = 0; rank < ranks_; ++rank) {
        const int own = mades_.index_of(own_of(plan_.buffers[b].type, rank));
        std::int64_t element = 0;
        for (Cell& cell : cells_[plan_.buffers[b].slot][rank]) {
          cell = {BufferId{b}, element++, own, -1, -1, 0};
        }
      }
    }
  }

  void run() {
    for (const Turn& turn : bound_.turns) {
      for (int rank = 0; rank < ranks_; ++rank) {
        turn_ = &turn;
        rank_ = rank;
        std::visit(Overloaded{
                       [&](const Kernel& kernel) { perform(kernel); },
                       [&](const MatmulLaunch& matmul) { perform(matmul.out); },
                       [&](const Conv2dLaunch& conv) { perform(conv.out); },
                       [&](const MoveLaunch& move) { perform(move.out); },
                       [&](const ReduceLaunch& reduce) { perform(reduce.out); },
                   },
                   plan_.launch(turn.launch).work);
      }
    }
    turn_ = nullptr;
    for (const PlanOutput& output : plan_.outputs) expect_complete(output.buffer, false);
    for (const Node& node : plan_.graph.nodes()) {
      if (!std::holds_alternative<Update>(node.op)) continue;
      expect_complete(plan_.parameter(plan_.graph.node(node.inputs[0]).name), true);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError(turn_ ? text_of(plan_, *turn_, rank_) + " " + what : what);
  }

  std::string element(BufferId buffer, int owner, std::int64_t index) const {
    return "element " + std::to_string(index) + " of buffer " + plan_.buffer(buffer).name +
           " of rank " + std::to_string(owner);
  }

  std::string axis_name(int axis) const { return plan_.graph.mesh().axes[axis]; }

  // What a rank's piece of a tensor of this type is made of.
  Made own_of(const TensorType& type, int rank) const {
    const std::vector<int> at = bound_.mesh.coordinates(rank);
    Made made(type.layout.axes(), kWhole);
    for (int axis : type.layout.axes_that_are<Partial>()) made[axis] = at[axis];
    for (int axis : type.layout.axes_that_are<Local>()) made[axis] = at[axis];
    return made;
  }

  Made joined(const Made& a, const Made& b) const {
    Made out = a;
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      if (b[axis] == kWhole || b[axis] == out[axis]) continue;
      if (out[axis] != kWhole) {
        fail("computes with pieces of two ranks along " + axis_name(static_cast<int>(axis)) + ", " +
             std::to_string(out[axis]) + " and " + std::to_string(b[axis]));
      }
      out[axis] = b[axis];
    }
    return out;
  }

  const Cell& cell_of(BufferId buffer, int owner, std::int64_t index) const {
    const std::int64_t place = places_[buffer.index].at(owner, index);
    return cells_[plan_.buffer(buffer).slot][owner][place];
  }

  const Made& read(BufferId buffer, int owner, std::int64_t index) const {
    if (index < 0 || index >= pieces_[buffer.index][owner].count()) {
      fail("reads outside the piece: " + element(buffer, owner, index));
    }
    const Cell& cell = cell_of(buffer, owner, index);
    if (cell.written_as != buffer) {
      fail("reads " + element(buffer, owner, index) +
           (cell.written_as.valid() ? ", where buffer " + plan_.buffer(cell.written_as).name + " is"
                                    : ", which has not been written"));
    }
    if (cell.element != index) {
      fail("reads " + element(buffer, owner, index) + ", where its element " +
           std::to_string(cell.element) + " is, of chunk " + std::to_string(cell.chunk));
    }
    return mades_[cell.made];
  }

  // `made`, written to the owner's buffer by this rank.
  void write(BufferId buffer, int owner, std::int64_t index, const Made& made) {
    if (index < 0 || index >= pieces_[buffer.index][owner].count()) {
      fail("writes outside the piece: " + element(buffer, owner, index));
    }
    Cell& cell = cells_[plan_.buffer(buffer).slot][owner][places_[buffer.index].at(owner, index)];
    if (cell.launch == turn_->launch.index && cell.element == index) {
      fail("writes " + element(buffer, owner, index) + ", which rank " + std::to_string(cell.rank) +
           " has written in chunk " + std::to_string(cell.chunk) + " of this launch already");
    }
    const Layout& layout = plan_.buffer(buffer).type.layout;
    const std::vector<int> at = bound_.mesh.coordinates(owner);
    for (int axis = 0; axis < layout.axes(); ++axis) {
      const bool partial = layout.is<Partial>(axis), local = layout.is<Local>(axis);
      const bool own = made[axis] == at[axis], whole = made[axis] == kWhole;
      if (partial ? own : local ? own || whole : whole) continue;
      const std::string found =
          whole ? "is whole" : "is rank " + std::to_string(made[axis]) + "'s piece alone";
      fail("writes to " + element(buffer, owner, index) + " what " + found + " along " +
           axis_name(axis) + ", where the buffer is " + text_of(layout.at(axis)));
    }
    cell = {buffer, index, mades_.index_of(made), turn_->launch.index, rank_, turn_->chunk};
  }

  // A product or reduction of what this rank holds. Along the sliced dims that it sums over, the
  // result is a piece of its own.
  void perform(BufferId out) {
    for (const auto& [buffer, index] : tensor_reads(bound_, *turn_, rank_)) {
      read(buffer, rank_, index);
    }
    const Made made = own_of(plan_.buffer(out).type, rank_);
    for (std::int64_t i : held_in_turn(bound_, pieces_[out.index][rank_], *turn_)) {
      write(out, rank_, i, made);
    }
  }

  bool performs(const Kernel& kernel, const Store& store) const {
    if (kernel.statements[store.value.index].level != Level::call) return !visit_.runs.empty();
    if (turn_->chunk != bound_.chunks_of(turn_->launch) - 1) return false;
    return store.all ? !visit_.away : pieces_[store.buffer.index][rank_].count() > 0;
  }

  void perform(const Kernel& kernel) {
    kernel_ = &kernel;
    visit_ = visit_of(bound_, kernel, *turn_, rank_);
    made_.clear();
    for (const Store& store : kernel.stores) {
      if (!performs(kernel, store)) continue;
      const Made value = made_of(store.value, rank_);
      const Level level = kernel.statements[store.value.index].level;
      const TensorType& type = plan_.buffer(store.buffer).type;
      for (int owner : written_by(bound_, store, rank_)) {
        for_each_place(visit_, kernel, level, type, [&](const Coordinates& at) {
          const std::int64_t index = place(store.buffer, owner, level, at);
          if (store.held && index < 0) return;  // another rank's
          write(store.buffer, owner, index, sent(kernel, store, value, owner));
        });
      }
    }
  }

  // What the one rank that acts sends to all is whole, and so is what ranks stack; what a shift
  // sends is the receiver's own.
  Made sent(const Kernel& kernel, const Store& store, Made value, int owner) const {
    for (int axis : store.all.value_or(AxisList{})) {
      if (kernel.space.layout.is<Rooted>(axis)) value[axis] = kWhole;
    }
    for (NodeId origin : plan_.launch(turn_->launch).origins) {
      const Stack* stack = std::get_if<Stack>(&plan_.graph.node(origin).op);
      for (int axis : stack ? stack->axes : AxisList{}) {
        const bool gathered = store.all && std::ranges::count(*store.all, axis) > 0;
        if (gathered || plan_.buffer(store.buffer).type.layout.is<Sliced>(axis)) {
          value[axis] = kWhole;
        }
      }
    }
    for (int axis : store.to ? store.to->axes : AxisList{}) {
      value[axis] = bound_.mesh.coordinates(owner)[axis];
    }
    return value;
  }

  std::int64_t place(BufferId buffer, int owner, Level level, const Coordinates& at) const {
    return level == Level::call ? 0 : held_at(pieces_[buffer.index][owner], at);
  }

  // Of a statement; inside a fold, for the peer that it is at.
  Made made_of(ValueId id, int peer) {
    const Statement& statement = kernel_->statements[id.index];
    const int owner = statement.per_peer ? peer : rank_;
    const auto key = std::make_pair(id.index, owner);
    if (const auto known = made_.find(key); known != made_.end()) return known->second;
    Made made = std::visit(
        Overloaded{
            [&](const Load& load) { return loaded(load.buffer, statement.level, owner); },
            [&](const FoldPeers& fold) { return folded(statement, fold); },
            [&](const Compute& compute) { return computed(statement, compute, owner, peer); },
            [&](const ReduceRun&) { return of_inputs(statement, peer); },
            [&](const Count&) { return nothing(); },
            [&](const FoldBuffer& fold) { return all_of(fold.buffer); },
        },
        statement.action);
    made_[key] = made;
    return made;
  }

  Made nothing() const { return Made(plan_.graph.mesh().size(), kWhole); }

  Made of_inputs(const Statement& statement, int peer) {
    Made out = nothing();
    for (ValueId input : statement.inputs) out = joined(out, made_of(input, peer));
    return out;
  }

  Made computed(const Statement& statement, const Compute& compute, int owner, int peer) {
    Made out = of_inputs(statement, peer);
    if (const AsPartial* partial = std::get_if<AsPartial>(&compute.op)) {
      for (int axis : partial->axes) out[axis] = bound_.mesh.coordinates(owner)[axis];
    }
    return out;
  }

  Made loaded(BufferId buffer, Level level, int owner) const {
    Made out = own_of(plan_.buffer(buffer).type, owner);  // of no elements too
    const TensorType& type = plan_.buffer(buffer).type;
    for_each_place(visit_, *kernel_, level, type, [&](const Coordinates& at) {
      out = joined(out, read(buffer, owner, place(buffer, owner, level, at)));
    });
    return out;
  }

  Made all_of(BufferId buffer) const {
    Made out = own_of(plan_.buffer(buffer).type, rank_);
    const std::int64_t count = pieces_[buffer.index][rank_].count();
    for (std::int64_t i = 0; i < count; ++i) out = joined(out, read(buffer, rank_, i));
    return out;
  }

  // Each rank's piece once, of the ranks of the operation's axes.
  Made folded(const Statement& statement, const FoldPeers& fold) {
    const AxisList axes = axes_of(plan_.graph.node(statement.origin).op);
    std::map<int, int> times;  // by rank
    Made out = nothing();
    for (int peer : bound_.mesh.group(rank_, fold.axes)) {
      const Made piece = made_of(statement.inputs.at(0), peer);
      std::vector<int> whose = bound_.mesh.coordinates(rank_);
      for (int axis : axes) {
        if (piece[axis] == kWhole) {
          fail("folds a value that is whole along " + axis_name(axis) + ", " + name_of(statement));
        }
        whose[axis] = piece[axis];
      }
      ++times[bound_.mesh.rank(whose)];
      for (std::size_t axis = 0; axis < out.size(); ++axis) {
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) out[axis] = piece[axis];
      }
    }
    for (int rank : bound_.mesh.group(rank_, axes)) {
      if (times[rank] == 1) continue;
      fail("folds the piece of rank " + std::to_string(rank) + " " + std::to_string(times[rank]) +
           " times, not once, " + name_of(statement));
    }
    return out;
  }

  std::string name_of(const Statement& statement) const {
    return "in " + plan_.graph.label(statement.origin);
  }

  void expect_complete(BufferId buffer, bool anew) const {
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::int64_t count = pieces_[buffer.index][rank].count();
      for (std::int64_t i = 0; i < count; ++i) {
        const Cell& cell = cell_of(buffer, rank, i);
        if (cell.written_as == buffer && (!anew || cell.launch >= 0)) continue;
        fail("no launch gives " + element(buffer, rank, i) + " its value");
      }
    }
  }

  const BoundPlan& bound_;
  const Plan& plan_;
  int ranks_;
  std::vector<std::vector<std::vector<Cell>>> cells_;  // [slot][owner][place]
  std::vector<Places> places_;                         // by buffer
  Mades mades_;
  std::vector<std::vector<Piece>> pieces_;  // [buffer][rank]
  const Turn* turn_ = nullptr;
  int rank_ = 0;
  const Kernel* kernel_ = nullptr;
  Visit visit_;
  std::map<std::pair<int, int>, Made> made_;  // by statement and rank whose value it is
};

}  // namespace

void verify_contributions(const BoundPlan& bound) { ContributionVerifier(bound).run(); }

}  // namespace coconet::plan
