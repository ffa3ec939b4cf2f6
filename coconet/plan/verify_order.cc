// Vector clocks: a rank knows how many turns each rank has done, by its own order and by its waits.
#include <algorithm>
#include <map>

#include "coconet/plan/verify.h"
#include "coconet/plan/visit.h"

namespace coconet::plan {
namespace {

using Clock = std::vector<int>;  // by rank: turns known to be done

struct Event {
  int rank = -1;
  int turn = -1;  // index in BoundPlan::turns
};

struct Cell {
  Event write;
  std::vector<Event> reads;  // since the write; the last of each rank
};

class OrderVerifier {
 public:
  explicit OrderVerifier(const BoundPlan& bound)
      : bound_(bound), plan_(*bound.plan), ranks_(bound.mesh.ranks()) {
    for (int t = 0; t < static_cast<int>(bound.turns.size()); ++t) {
      turn_at_[{bound.turns[t].launch, bound.turns[t].chunk}] = t;
    }
    for (const Buffer& buffer : plan_.buffers) {
      std::vector<Piece> pieces;
      for (int rank = 0; rank < ranks_; ++rank) pieces.push_back(bound.piece(buffer.type, rank));
      pieces_.push_back(std::move(pieces));
    }
  }

  void run() {
    std::vector<Clock> clocks(ranks_, Clock(ranks_, 0));
    for (int t = 0; t < static_cast<int>(bound_.turns.size()); ++t) {
      done_.emplace_back();
      for (int rank = 0; rank < ranks_; ++rank) {
        const Turn& turn = bound_.turns[t];
        join_waits(plan_.launch(turn.launch).waits, turn.chunk, t, rank, clocks[rank]);
        clock_ = &clocks[rank];
        now_ = {rank, t};
        perform(turn, rank);
        clocks[rank][rank] = t + 1;
      }
      for (int rank = 0; rank < ranks_; ++rank) done_[t].push_back(clocks[rank]);
    }
    const int end = static_cast<int>(bound_.turns.size());
    for (int rank = 0; rank < ranks_; ++rank) {
      join_waits(plan_.exit_waits, 0, end, rank, clocks[rank]);
      verify_exit(rank, clocks[rank]);
    }
  }

 private:
  void join_waits(const std::vector<Wait>& waits, int chunk, int turn, int rank, Clock& clock) {
    for (const Wait& wait : waits) {
      const int on = wait.same_chunk ? chunk : bound_.chunks_of(wait.on) - 1;
      const int before = turn_at_.at({wait.on, on});
      check(before < turn, "a wait points backwards in the order of turns");
      for (int peer : bound_.mesh.group(rank, wait.axes)) {
        if (peer == rank) continue;
        for (int r = 0; r < ranks_; ++r) clock[r] = std::max(clock[r], done_[before][peer][r]);
      }
    }
  }

  std::string text_of(const Event& event) const {
    const Turn& turn = bound_.turns[event.turn];
    return "rank " + std::to_string(event.rank) + " in launch " +
           std::to_string(turn.launch.index) + " (" + plan_.launch(turn.launch).name + "), chunk " +
           std::to_string(turn.chunk);
  }

  bool before_now(const Event& event) const {
    return event.rank < 0 || event.rank == now_.rank || (*clock_)[event.rank] > event.turn;
  }

  void need_order(const Event& earlier, BufferId buffer, int owner, std::int64_t index) const {
    if (before_now(earlier)) return;
    throw InternalError("no wait orders " + text_of(earlier) + " and " + text_of(now_) +
                        ", which touch element " + std::to_string(index) + " of buffer " +
                        plan_.buffer(buffer).name + " of rank " + std::to_string(owner));
  }

  Cell& cell(BufferId buffer, int owner, std::int64_t index) {
    return cells_[{plan_.buffer(buffer).slot, owner, index}];
  }

  void read(BufferId buffer, int owner, std::int64_t index) {
    if (index < 0 || index >= pieces_[buffer.index][owner].count()) return;
    Cell& at = cell(buffer, owner, index);
    need_order(at.write, buffer, owner, index);
    for (Event& other : at.reads) {
      if (other.rank != now_.rank) continue;
      other = now_;
      return;
    }
    at.reads.push_back(now_);
  }

  void write(BufferId buffer, int owner, std::int64_t index) {
    if (index < 0 || index >= pieces_[buffer.index][owner].count()) return;
    Cell& at = cell(buffer, owner, index);
    need_order(at.write, buffer, owner, index);
    for (const Event& other : at.reads) need_order(other, buffer, owner, index);
    at = {now_, {}};
  }

  void perform(const Turn& turn, int rank) {
    std::visit(Overloaded{
                   [&](const Kernel& kernel) { perform_kernel(kernel, turn, rank); },
                   [&](const MatmulLaunch& m) {
                     read_all(m.a, rank);
                     read_all(m.b, rank);
                     write_turn(m.out, turn, rank);
                   },
                   [&](const MoveLaunch& m) {
                     for (BufferId in : m.in) read_all(in, rank);
                     write_turn(m.out, turn, rank);
                   },
                   [&](const ReduceLaunch& r) {
                     read_all(r.in, rank);
                     write_turn(r.out, turn, rank);
                   },
               },
               plan_.launch(turn.launch).work);
  }

  // A chunk of a product reads no more than this; it is this rank's own memory in any case.
  void read_all(BufferId buffer, int rank) {
    if (!plan_.buffer(buffer).symmetric) return;
    const std::int64_t count = pieces_[buffer.index][rank].count();
    for (std::int64_t i = 0; i < count; ++i) read(buffer, rank, i);
  }

  void write_turn(BufferId buffer, const Turn& turn, int rank) {
    for (std::int64_t i : held_in_turn(bound_, pieces_[buffer.index][rank], turn)) {
      write(buffer, rank, i);
    }
  }

  // Calls touch(coordinates) for each place that a value of this level has in the visit, in a
  // buffer of this type.
  template <class Touch>
  static void for_each_place(const Visit& visit, const Kernel& kernel, Level level,
                             const TensorType& type, const Touch& touch) {
    if (level == Level::call && !visit.away) touch(Coordinates{});
    if (level == Level::run) {
      for (const Run& run : visit.runs) touch(place_of(run, type, kernel));
    }
    if (level == Level::element) {
      for (const Coordinates& at : visit.elements) touch(at);
    }
  }

  std::int64_t place(BufferId buffer, int owner, Level level, const Coordinates& at) const {
    return level == Level::call ? 0 : held_at(pieces_[buffer.index][owner], at);
  }

  void perform_kernel(const Kernel& kernel, const Turn& turn, int rank) {
    const Visit visit = visit_of(bound_, kernel, turn, rank);
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
      for (int owner : written_by(rank, store)) {
        for_each_place(visit, kernel, level, type, [&](const Coordinates& at) {
          write(store.buffer, owner, place(store.buffer, owner, level, at));
        });
      }
    }
  }

  std::vector<int> owners(int rank, bool peers, const AxisList& axes) const {
    return peers ? bound_.mesh.group(rank, axes) : std::vector<int>{rank};
  }

  // Whose buffer the store writes.
  std::vector<int> written_by(int rank, const Store& store) const {
    if (!store.to) return owners(rank, store.all.has_value(), store.all.value_or(AxisList{}));
    return receivers(bound_, *store.to, rank);
  }

  void verify_exit(int rank, const Clock& clock) {
    clock_ = &clock;
    for (const auto& [key, cell] : cells_) {
      const auto& [slot, owner, index] = key;
      if (owner != rank) continue;
      std::vector<Event> events = cell.reads;
      if (cell.write.rank >= 0) events.push_back(cell.write);
      for (const Event& event : events) {
        if (event.rank == rank || clock[event.rank] > event.turn) continue;
        throw InternalError("rank " + std::to_string(rank) + " may return while " + text_of(event) +
                            " still touches element " + std::to_string(index) +
                            " of its memory in slot " + std::to_string(slot));
      }
    }
  }

  const BoundPlan& bound_;
  const Plan& plan_;
  int ranks_;
  std::map<std::pair<LaunchId, int>, int> turn_at_;
  std::vector<std::vector<Piece>> pieces_;  // [buffer][rank]
  std::vector<std::vector<Clock>> done_;    // [turn][rank]: what is known when it is done
  std::map<std::tuple<int, int, std::int64_t>, Cell> cells_;  // slot, owner, element
  const Clock* clock_ = nullptr;
  Event now_;
};

}  // namespace

void verify_order(const BoundPlan& bound) { OrderVerifier(bound).run(); }

}  // namespace coconet::plan
