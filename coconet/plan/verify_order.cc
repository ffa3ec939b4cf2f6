// Vector clocks: a rank knows how many steps each rank has done, by its own order and by its waits.
// A wait tells no more than the first signal that satisfies it. Signals only grow, so whatever the
// ranks' order, they come equally far: one order shows every race and every deadlock.
#include <algorithm>

#include "coconet/plan/places.h"
#include "coconet/plan/verify.h"
#include "coconet/plan/visit.h"

namespace coconet::plan {
namespace {

using Clock = std::vector<int>;  // by rank: steps known to be done

struct Event {
  int rank = -1;
  int step = -1;
};

struct Cell {
  Event write;
  std::vector<Event> reads;  // since the write; the last of each rank
  BufferId buffer;           // as which it was touched last
};

struct Signal {
  std::int64_t progress = 0;
  int step = 0;
  Clock known;
};

struct RankState {
  int step = 0;  // the next
  Clock known;
  std::vector<Signal> signals;  // ascending
};

class OrderVerifier {
 public:
  explicit OrderVerifier(const std::vector<BoundCall>& calls)
      : steps_(calls),
        plan_(*calls[0].bound.plan),
        mesh_(calls[0].bound.mesh),
        ranks_(mesh_.ranks(), RankState{0, Clock(mesh_.ranks(), 0), {}}),
        pieces_(calls.size()),
        places_(calls.size()),
        cells_(plan_.buffers.size()) {
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      std::vector<std::vector<Cell>>& slot = cells_.at(plan_.buffers[b].slot);
      slot.resize(ranks_.size());
      for (std::size_t call = 0; call < calls.size(); ++call) {
        const BoundPlan& bound = calls[call].bound;
        pieces_[call].push_back(pieces_of(bound, BufferId{b}));
        const Places& places = places_[call].emplace_back(bound, BufferId{b});
        const auto count = static_cast<std::size_t>(places.memory());
        for (std::vector<Cell>& own : slot) own.resize(std::max(own.size(), count));
      }
    }
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < rank_count(); ++rank) {
        if (at_end(rank) || blocked(rank)) continue;
        act(rank);
        moved = true;
      }
    }
    std::string waiting;
    for (int rank = 0; rank < rank_count(); ++rank) {
      if (at_end(rank)) continue;
      waiting +=
          (waiting.empty() ? "" : "; ") + steps_.text_of(ranks_[rank].step, rank, *blocked(rank));
    }
    if (!waiting.empty()) throw InternalError("a deadlock: " + waiting);
  }

 private:
  int rank_count() const { return static_cast<int>(ranks_.size()); }
  bool at_end(int rank) const { return ranks_[rank].step == steps_.count(); }
  std::string text_of(const Event& event) const { return steps_.text_of(event.step, event.rank); }
  bool is_turn(int step) const { return !steps_.enters(step) && !steps_.returns(step); }
  const Piece& piece(BufferId buffer, int owner) const {
    return pieces_[steps_.call_of(now_.step)][buffer.index][owner];
  }

  static std::vector<Signal>::const_iterator first_signal(const std::vector<Signal>& signals,
                                                          std::int64_t progress) {
    return std::lower_bound(signals.begin(), signals.end(), progress,
                            [](const Signal& s, std::int64_t p) { return s.progress < p; });
  }

  std::optional<Steps::Need> blocked(int rank) const {
    for (const Steps::Need& need : steps_.needs(ranks_[rank].step, rank)) {
      const std::vector<Signal>& signals = ranks_[need.rank].signals;
      if (first_signal(signals, need.progress) == signals.end()) return need;
    }
    return std::nullopt;
  }

  // Requires: not blocked.
  void act(int rank) {
    RankState& state = ranks_[rank];
    for (const Steps::Need& need : steps_.needs(state.step, rank)) {
      const Signal& signal = *first_signal(ranks_[need.rank].signals, need.progress);
      if (steps_.call_of(signal.step) != steps_.call_of(state.step)) {
        throw InternalError(steps_.text_of(state.step, rank, need) +
                            ", which a signal of another "
                            "call satisfies: that of " +
                            steps_.text_of(signal.step, need.rank));
      }
      for (int r = 0; r < rank_count(); ++r) {
        state.known[r] = std::max(state.known[r], signal.known[r]);
      }
    }
    now_ = {rank, state.step};
    if (is_turn(state.step)) {
      perform(steps_.bound(state.step), steps_.turn(state.step), rank);
    } else {
      take_memory();
    }
    state.known[rank] = ++state.step;
    if (const auto progress = steps_.signal(now_.step)) publish(*progress);
  }

  void publish(std::int64_t progress) {
    RankState& state = ranks_[now_.rank];
    if (!state.signals.empty() && state.signals.back().progress > progress) {
      const Signal& last = state.signals.back();
      throw InternalError(text_of(now_) + " sets its progress back to " + std::to_string(progress) +
                          " from the " + std::to_string(last.progress) + " of " +
                          text_of({now_.rank, last.step}) +
                          ", which a rank that waits for it may not have seen");
    }
    state.signals.push_back({progress, now_.step, state.known});
  }

  bool before_now(const Event& event) const {
    return event.rank < 0 || event.rank == now_.rank ||
           ranks_[now_.rank].known[event.rank] > event.step;
  }

  void need_order(const Event& earlier, BufferId buffer, int owner, std::int64_t index) const {
    if (before_now(earlier)) return;
    const std::string place = " element " + std::to_string(index) + " of buffer " +
                              plan_.buffer(buffer).name + " of rank " + std::to_string(owner);
    if (is_turn(earlier.step) && is_turn(now_.step)) {
      throw InternalError("no wait orders " + text_of(earlier) + " and " + text_of(now_) +
                          ", which touch" + place);
    }
    // One of them is its owner's caller.
    const Event& caller = is_turn(earlier.step) ? now_ : earlier;
    const Event& other = is_turn(earlier.step) ? earlier : now_;
    const int call = steps_.call_of(other.step), of_caller = steps_.call_of(caller.step);
    const bool enters = call > of_caller || (call == of_caller && steps_.enters(caller.step));
    throw InternalError("rank " + std::to_string(owner) +
                        (enters ? " may not have entered when " : " may return while ") +
                        text_of(other) + (enters ? " touches" : " still touches") + place);
  }

  // The caller's memory now: as a write to all of it.
  void take_memory() {
    for (std::vector<std::vector<Cell>>& slot : cells_) {
      if (slot.empty()) continue;
      std::vector<Cell>& own = slot[now_.rank];
      for (std::size_t index = 0; index < own.size(); ++index) {
        write(own[index], own[index].buffer, now_.rank, static_cast<std::int64_t>(index));
      }
    }
  }

  Cell& cell(BufferId buffer, int owner, std::int64_t index) {
    const Places& places = places_[steps_.call_of(now_.step)][buffer.index];
    return cells_[plan_.buffer(buffer).slot][owner][places.at(owner, index)];
  }

  void read(BufferId buffer, int owner, std::int64_t index) {
    if (index < 0 || index >= piece(buffer, owner).count()) return;
    Cell& at = cell(buffer, owner, index);
    need_order(at.write, buffer, owner, index);
    at.buffer = buffer;
    for (Event& other : at.reads) {
      if (other.rank != now_.rank) continue;
      other = now_;
      return;
    }
    at.reads.push_back(now_);
  }

  void write(Cell& at, BufferId buffer, int owner, std::int64_t index) {
    need_order(at.write, buffer, owner, index);
    for (const Event& other : at.reads) need_order(other, buffer, owner, index);
    at.write = now_;
    at.reads.clear();
    at.buffer = buffer;
  }

  void write(BufferId buffer, int owner, std::int64_t index) {
    if (index < 0 || index >= piece(buffer, owner).count()) return;
    write(cell(buffer, owner, index), buffer, owner, index);
  }

  void perform(const BoundPlan& bound, const Turn& turn, int rank) {
    for (const auto& [buffer, index] : tensor_reads(bound, turn, rank)) read(buffer, rank, index);
    std::visit(Overloaded{
                   [&](const Kernel& kernel) { perform_kernel(bound, kernel, turn, rank); },
                   [&](const MatmulLaunch& matmul) { write_turn(bound, matmul.out, turn, rank); },
                   [&](const Conv2dLaunch& conv) { write_turn(bound, conv.out, turn, rank); },
                   [&](const MoveLaunch& move) { write_turn(bound, move.out, turn, rank); },
                   [&](const ReduceLaunch& reduce) { write_turn(bound, reduce.out, turn, rank); },
               },
               plan_.launch(turn.launch).work);
  }

  void read_all(BufferId buffer, int rank) {
    const std::int64_t count = piece(buffer, rank).count();
    for (std::int64_t i = 0; i < count; ++i) read(buffer, rank, i);
  }

  void write_turn(const BoundPlan& bound, BufferId buffer, const Turn& turn, int rank) {
    for (std::int64_t i : held_in_turn(bound, piece(buffer, rank), turn)) {
      write(buffer, rank, i);
    }
  }

  std::int64_t place(BufferId buffer, int owner, Level level, const Coordinates& at) const {
    return level == Level::call ? 0 : held_at(piece(buffer, owner), at);
  }

  void perform_kernel(const BoundPlan& bound, const Kernel& kernel, const Turn& turn, int rank) {
    const Visit visit = visit_of(bound, kernel, turn, rank);
    AxisList fold;
    for (const Statement& s : kernel.statements) {
      if (const auto* peers = std::get_if<FoldPeers>(&s.action)) fold = peers->axes;
    }
    for (const Statement& s : kernel.statements) {
      if (const auto* blocks = std::get_if<FoldBuffer>(&s.action)) read_all(blocks->buffer, rank);
      const Load* load = std::get_if<Load>(&s.action);
      if (!load) continue;
      const TensorType& type = plan_.buffer(load->buffer).type;
      for (int owner : owners(rank, s.per_peer, fold)) {
        for_each_place(visit, kernel, s.level, type, [&](const Coordinates& at) {
          read(load->buffer, owner, place(load->buffer, owner, s.level, at));
        });
      }
    }
    for (const Store& store : kernel.stores) {
      const Level level = kernel.statements[store.value.index].level;
      const TensorType& type = plan_.buffer(store.buffer).type;
      for (int owner : written_by(bound, store, rank)) {
        for_each_place(visit, kernel, level, type, [&](const Coordinates& at) {
          write(store.buffer, owner, place(store.buffer, owner, level, at));
        });
      }
    }
  }

  std::vector<int> owners(int rank, bool peers, const AxisList& axes) const {
    return peers ? mesh_.group(rank, axes) : std::vector<int>{rank};
  }

  const Steps steps_;
  const Plan& plan_;
  const MeshSizes& mesh_;
  std::vector<RankState> ranks_;
  std::vector<std::vector<std::vector<Piece>>> pieces_;  // [call][buffer][rank]
  std::vector<std::vector<Places>> places_;              // [call][buffer]
  std::vector<std::vector<std::vector<Cell>>> cells_;    // [slot][owner][place]
  Event now_;
};

}  // namespace

void verify_order(const std::vector<BoundCall>& calls) { OrderVerifier(calls).run(); }

void verify_order(const BoundPlan& bound) { verify_order(in_a_row({bound, bound})); }

}  // namespace coconet::plan
