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
      : bound_(bound),
        plan_(*bound.plan),
        ranks_(bound.mesh.ranks()),
        cells_(plan_.buffers.size()) {
    for (int t = 0; t < static_cast<int>(bound.turns.size()); ++t) {
      turn_at_[{bound.turns[t].launch, bound.turns[t].chunk}] = t;
    }
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      pieces_.push_back(pieces_of(bound, BufferId{b}));
      std::vector<std::vector<Cell>>& slot = cells_.at(plan_.buffers[b].slot);
      slot.resize(ranks_);
      for (int rank = 0; rank < ranks_; ++rank) {
        const std::size_t count = pieces_[b][rank].count();
        if (slot[rank].size() < count) slot[rank].resize(count);
      }
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
      if (before >= turn) {
        throw InternalError(text_of(Event{rank, turn}) + " waits for " +
                            text_of(Event{rank, before}) +
                            ", which does not come before: a deadlock");
      }
      for (int peer : bound_.mesh.group(rank, wait.axes)) {
        if (peer == rank) continue;
        for (int r = 0; r < ranks_; ++r) clock[r] = std::max(clock[r], done_[before][peer][r]);
      }
    }
  }

  std::string text_of(const Event& event) const {
    return plan::text_of(plan_, bound_.turns[event.turn], event.rank);
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
    return cells_[plan_.buffer(buffer).slot][owner][index];
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
    for (const auto& [buffer, index] : tensor_reads(bound_, turn, rank)) read(buffer, rank, index);
    std::visit(Overloaded{
                   [&](const Kernel& kernel) { perform_kernel(kernel, turn, rank); },
                   [&](const MatmulLaunch& matmul) { write_turn(matmul.out, turn, rank); },
                   [&](const Conv2dLaunch& conv) { write_turn(conv.out, turn, rank); },
                   [&](const MoveLaunch& move) { write_turn(move.out, turn, rank); },
                   [&](const ReduceLaunch& reduce) { write_turn(reduce.out, turn, rank); },
               },
               plan_.launch(turn.launch).work);
  }

  void read_all(BufferId buffer, int rank) {
    const std::int64_t count = pieces_[buffer.index][rank].count();
    for (std::int64_t i = 0; i < count; ++i) read(buffer, rank, i);
  }

  void write_turn(BufferId buffer, const Turn& turn, int rank) {
    for (std::int64_t i : held_in_turn(bound_, pieces_[buffer.index][rank], turn)) {
      write(buffer, rank, i);
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
      for (int owner : written_by(bound_, store, rank)) {
        for_each_place(visit, kernel, level, type, [&](const Coordinates& at) {
          write(store.buffer, owner, place(store.buffer, owner, level, at));
        });
      }
    }
  }

  std::vector<int> owners(int rank, bool peers, const AxisList& axes) const {
    return peers ? bound_.mesh.group(rank, axes) : std::vector<int>{rank};
  }

  void verify_exit(int rank, const Clock& clock) {
    clock_ = &clock;
    for (std::size_t slot = 0; slot < cells_.size(); ++slot) {
      if (cells_[slot].empty()) continue;
      const std::vector<Cell>& held = cells_[slot][rank];
      for (std::size_t index = 0; index < held.size(); ++index) {
        std::vector<Event> events = held[index].reads;
        if (held[index].write.rank >= 0) events.push_back(held[index].write);
        for (const Event& event : events) {
          if (event.rank == rank || clock[event.rank] > event.turn) continue;
          throw InternalError("rank " + std::to_string(rank) + " may return while " +
                              text_of(event) + " still touches element " + std::to_string(index) +
                              " of its memory in slot " + std::to_string(slot));
        }
      }
    }
  }

  const BoundPlan& bound_;
  const Plan& plan_;
  int ranks_;
  std::map<std::pair<LaunchId, int>, int> turn_at_;
  std::vector<std::vector<Piece>> pieces_;  // [buffer][rank]
  std::vector<std::vector<Clock>> done_;    // [turn][rank]: what is known when it is done
  std::vector<std::vector<std::vector<Cell>>> cells_;  // [slot][owner][element]
  const Clock* clock_ = nullptr;
  Event now_;
};

}  // namespace

void verify_order(const BoundPlan& bound) { OrderVerifier(bound).run(); }

}  // namespace coconet::plan
