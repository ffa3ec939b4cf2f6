#include "bench/harness/measure.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "bench/harness/placement.h"

namespace coconet::bench {

namespace {

constexpr std::int64_t kMostIterations = 5000;
constexpr double kLong = 50'000;  // microseconds of an iteration that needs no other to be warm

class RoundRobin {
 public:
  RoundRobin(std::vector<Participant>& participants, std::vector<Cell>& cells, const Effort& effort,
             const std::string& ours)
      : participants_(participants), cells_(cells), effort_(effort), ours_(ours) {}

  void run() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      perform(cells_[i], [&] { begin(cells_[i]); });
      leave(i, i + 1);
    }
    for (Cell& cell : cells_) set_rounds(cell);
    perform_rounds();
    if (effort_.finals && choose_finalists()) perform_rounds();
  }

 private:
  void perform_rounds() {
    for (int start = 0; start < effort_.starts; ++start) {
      int round = 0;
      for (; round < effort_.rounds; ++round) {
        perform_round(round, [&](const Cell& cell) { return round < cell.rounds; });
      }
      // Placements change: of what has no figure beside another one, once as many again.
      const bool last = start + 1 == effort_.starts;
      for (; last && round < 2 * effort_.rounds; ++round) {
        perform_round(round, [&](const Cell& cell) { return !has_met(cell); });
      }
      for (Participant& participant : participants_) participant.stop();
    }
  }

  void perform_round(int round, const std::function<bool(const Cell&)>& wanted) {
    // Whoever comes first or after whom changes from round to round.
    const std::size_t count = cells_.size();
    const auto at = [&](std::size_t i) {
      const std::size_t turned = (i + static_cast<std::size_t>(round) * 5) % count;
      return i == count ? count : round % 2 == 0 ? turned : count - 1 - turned;
    };
    for (std::size_t i = 0; i < count; ++i) {
      Cell& cell = cells_[at(i)];
      if (wanted(cell)) perform(cell, [&] { add_batch(cell); });
      leave(at(i), at(i + 1));
    }
  }

  // Whether all cells of its workload and dtype have a figure of one placement.
  bool has_met(const Cell& like) const {
    const auto has_figures = [&](const std::string& placement) {
      return std::ranges::all_of(cells_, [&](const Cell& cell) {
        const bool same = cell.workload == like.workload && cell.dtype == like.dtype;
        return !same || !cell.failed.empty() || cell.out ||
               median_of(cell.medians, placement, effort_.fewest_batches) > 0;
      });
    };
    return has_figures("S") || has_figures("D");
  }

  // The peers of this one's workload and dtype, this one too.
  std::size_t peers_like(const Cell& like) const {
    return static_cast<std::size_t>(std::ranges::count_if(cells_, [&](const Cell& other) {
      return other.peer && other.workload == like.workload && other.dtype == like.dtype;
    }));
  }

  // Whether there are more peers than come to the finals; without, there is no luck of the least of
  // many to take out.
  bool choose_finalists() {
    const bool many = std::ranges::any_of(
        cells_, [&](const Cell& cell) { return cell.peer && peers_like(cell) > kFinalists / 2; });
    if (!many) return false;
    for (Cell& cell : cells_) {
      if (cell.peer) cell.out = true;
    }
    for (const Cell& cell : cells_) {
      if (!cell.peer) continue;
      for (const auto& [placement, medians] : cell.medians) {
        admit_best(cell, placement, false, kFinalists);
        admit_best(cell, placement, true, kFinalists / 2);
      }
    }
    for (Cell& cell : cells_) {
      if (cell.out) continue;
      cell.medians.clear();
      cell.round_trips.clear();
    }
    return true;
  }

  // Of the peers of the same workload and dtype as this one.
  void admit_best(const Cell& like, const std::string& placement, bool defaults_alone,
                  std::size_t most) {
    std::vector<std::pair<double, Cell*>> times;
    for (Cell& cell : cells_) {
      const bool same = cell.workload == like.workload && cell.dtype == like.dtype;
      if (!same || !cell.peer || (defaults_alone && cell.tuned) || !cell.failed.empty()) continue;
      const double time = median_of(cell.medians, placement, effort_.fewest_batches);
      if (time > 0) times.push_back({time, &cell});
    }
    std::sort(times.begin(), times.end());
    for (std::size_t i = 0; i < std::min(most, times.size()); ++i) {
      if (times[i].first <= kClose * times[0].first) times[i].second->out = false;
    }
  }

  void perform(Cell& cell, const std::function<void()>& act) {
    if (!cell.failed.empty() || cell.out) return;
    try {
      act();
    } catch (const ParticipantFailed& failure) {
      if (cell.name == ours_) throw;
      std::fprintf(stderr, "bench: left out of %s: %s\n", cell.workload.c_str(), failure.what());
      for (Cell& other : cells_) {
        if (other.participant == cell.participant) other.failed = failure.what();
      }
    } catch (const WrongResult& wrong) {
      if (cell.name == ours_) throw;
      std::fprintf(stderr, "bench: left out: %s\n", wrong.what());
      cell.failed = wrong.what();
    }
  }

  // What does not stay ends where the next cell is another participant's.
  void leave(std::size_t cell, std::size_t next) {
    const std::size_t participant = cells_[cell].participant;
    if (effort_.stay) return;
    if (next < cells_.size() && cells_[next].participant == participant) return;
    participants_[participant].stop();
  }

  // Its result is right; how many iterations make a batch.
  void begin(Cell& cell) {
    Participant& participant = participants_[cell.participant];
    const double difference = participant.check(cell.operation);
    if (!(difference <= cell.bound)) {
      char text[200];
      std::snprintf(text, sizeof text, "%s, %s, %s: the result is off by %g; allowed is %g",
                    cell.workload.c_str(), cell.name.c_str(), cell.operation.c_str(), difference,
                    cell.bound);
      throw WrongResult(text);
    }
    double one = participant.time(cell.operation, 0, 1).turnaround;
    if (one < kLong) one = participant.time(cell.operation, 1, 3).turnaround;
    cell.first = one;
    cell.iterations = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(effort_.batch_microseconds / one), 1, kMostIterations);
    cell.warm_up = std::max<std::int64_t>(1, cell.iterations / 10);
  }

  void set_rounds(Cell& cell) {
    const int fewest = (effort_.fewest_batches + effort_.starts - 1) / effort_.starts;
    const double batch = std::max(cell.first, effort_.batch_microseconds);
    const double wanted = effort_.cell_microseconds / batch / effort_.starts;
    // One more than the fewest, as placements change.
    cell.rounds = static_cast<int>(std::max(wanted, fewest + 1.0));
    if (far_from_best(cell)) cell.rounds = fewest;
    if (cell.first > kLong) cell.warm_up = 0;
  }

  bool far_from_best(const Cell& cell) const {
    return std::any_of(cells_.begin(), cells_.end(), [&](const Cell& other) {
      const bool same = cell.workload == other.workload && cell.dtype == other.dtype;
      return same && cell.peer && other.peer && other.first > 0 &&
             cell.first > kHopeless * other.first;
    });
  }

  void add_batch(Cell& cell) {
    const Batch batch =
        participants_[cell.participant].time(cell.operation, cell.warm_up, cell.iterations);
    const std::string placement = placement_of(batch);
    if (placement.empty()) {
      ++cell.thrown_away;
    } else {
      cell.medians[placement].push_back(batch.median());
      cell.round_trips[placement].push_back(batch.round_trip_before);
    }
  }

  std::vector<Participant>& participants_;
  std::vector<Cell>& cells_;
  const Effort& effort_;
  const std::string& ours_;
};

}  // namespace

void measure(std::vector<Participant>& participants, std::vector<Cell>& cells, const Effort& effort,
             const std::string& ours) {
  RoundRobin(participants, cells, effort, ours).run();
}

double median_of(const ByPlacement& values, const std::string& placement, int fewest) {
  const auto found = values.find(placement);
  if (found == values.end() || static_cast<int>(found->second.size()) < fewest) return 0;
  return Batch{0, 0, 0, found->second}.median();
}

}  // namespace coconet::bench
