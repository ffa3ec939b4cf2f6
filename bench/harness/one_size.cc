#include "bench/harness/one_size.h"

#include <algorithm>
#include <set>

#include "bench/harness/floor.h"
#include "bench/worker/floor_passes.h"

namespace coconet::bench {

namespace {

const std::string kOurs = "coconet";
constexpr std::int64_t kLeastFootprint = 4096;
// Of a sum of two the bits; of Adam's step in f32, whatever order its loop has, against double.
constexpr double kExact = 0, kAdamBound = 5e-6;

struct Work {
  std::string workload, dtype;
};

// A participant and its cells are made together; then all are measured; then rows are read off.
class OneSize {
 public:
  OneSize(const Setup& setup, std::int64_t elements) : setup_(setup), elements_(elements) {
    if (wanted("all_reduce")) add_floor("all_reduce", all_reduce_footprint(elements));
    if (wanted("adam")) add_floor("adam", adam_footprint(elements, kRanks));
    std::vector<Other> ours = {{kOurs, setup.folder + "/coconet"}};
    ours.insert(ours.end(), setup.others.begin(), setup.others.end());
    for (const Other& each : ours) {
      add_ours({"all_reduce", "f32"}, each, kExact);
      add_ours({"adam", "f32"}, each, kAdamBound);
      add_ours({"adam", "f16"}, each, kAdamBound);
    }
    for (const Peer& peer : setup.peers) add_peer(peer);
  }

  SizeResult run() {
    measure(participants_, cells_, setup_.effort, kOurs);
    SizeResult out;
    for (const Work& work : {Work{"all_reduce", "f32"}, {"adam", "f32"}, {"adam", "f16"}}) {
      for (const std::string placement : {"S", "D"}) {
        const Row row = row_of(work, placement);
        if (row.us > 0) out.rows.push_back(row);
      }
    }
    for (const Cell& cell : cells_) {
      out.thrown_away += cell.thrown_away;
      for (const auto& [placement, medians] : cell.medians) {
        out.kept += static_cast<int>(medians.size());
      }
      if (cell.operation == "empty") {
        for (const auto& [placement, medians] : cell.medians) {
          out.empty_microseconds = std::max(out.empty_microseconds, median(cell, placement));
        }
      }
    }
    return out;
  }

 private:
  std::int64_t exchanged() const {
    return std::max(exchange_footprint(elements_, kRanks), kLeastFootprint);
  }

  bool wanted(const std::string& workload) const {
    return setup_.only.empty() || setup_.only == workload;
  }

  void add(Program program) {
    program.ranks = kRanks;
    program.cores = setup_.cores;
    program.words["fresh"] = setup_.fresh ? "yes" : "no";
    participants_.emplace_back(std::move(program));
  }

  void add_cell(const Work& work, const std::string& name, const std::string& operation,
                double bound) {
    Cell cell;
    cell.workload = work.workload;
    cell.dtype = work.dtype;
    cell.name = name;
    cell.participant = participants_.size() - 1;
    cell.operation = operation;
    cell.bound = bound;
    cells_.push_back(std::move(cell));
  }

  void add_floor(const std::string& workload, std::int64_t bytes) {
    bytes = std::max(bytes, kLeastFootprint);
    add({.name = "memory",
         .command = {setup_.folder + "/memory"},
         .words = {{"bytes", std::to_string(bytes)}, {"exchanged", std::to_string(exchanged())}}});
    for (const FloorOperation& operation : kFloorOperations) {
      const std::int64_t array = operation.exchanged ? exchanged() : bytes;
      const std::int64_t passes = operation.exchanged ? 1 : floor_passes(bytes);
      add_cell({"floor of " + workload, ""}, "memory", operation.name, kExact);
      cells_.back().bytes = static_cast<double>(array * passes * kRanks) * operation.arrays;
    }
    add_cell({"floor of " + workload, ""}, "memory", "empty", kExact);
  }

  void add_ours(const Work& work, const Other& of, double bound) {
    if (!wanted(work.workload)) return;
    add({.name = of.name,
         .command = {of.program},
         .words = {{"program", work.workload},
                   {"dtype", work.dtype},
                   {"elements", std::to_string(elements_)}},
         .variables = of.variables});
    add_cell(work, of.name, "call", bound);
  }

  void add_peer(const Peer& peer) {
    Program program = peer.program;
    program.words["elements"] = std::to_string(elements_);
    add(std::move(program));
    add_cell({"all_reduce", "f32"}, peer.name, "all_reduce", kExact);
    if (!wanted("adam")) return;
    add_cell({"adam", "f32"}, peer.name, "adam_all_reduce", kAdamBound);
    add_cell({"adam", "f32"}, peer.name, "adam_reduce_scatter", kAdamBound);
    add_cell({"adam", "f16"}, peer.name, "adam16_all_reduce", kAdamBound);
    add_cell({"adam", "f16"}, peer.name, "adam16_all_to_all", kAdamBound);
  }

  double median(const Cell& cell, const std::string& placement) const {
    return median_of(cell.medians, placement, setup_.effort.fewest_batches);
  }

  Row row_of(const Work& work, const std::string& placement) const {
    Row row;
    row.workload = work.workload;
    row.dtype = work.dtype;
    row.ranks = kRanks;
    row.elements = elements_;
    row.fresh = setup_.fresh;
    row.placement = placement;
    for (const Cell& cell : cells_) {
      const double time = median(cell, placement);
      if (time <= 0) continue;
      const bool ours = cell.name == kOurs;
      const bool here = cell.workload == work.workload && cell.dtype == work.dtype;
      if (cell.workload == "floor of " + work.workload && cell.bytes > 0) {
        row.rates[cell.operation] = cell.bytes / time * 1e-3;
      } else if (here && ours) {
        row.us = time;
        row.round_trip = median_of(cell.round_trips, placement, 1);
      } else if (here && cell.operation == "call") {
        row.others[cell.name] = time;
      } else if (here) {
        PeerTime& best = row.peers[cell.name];
        if (best.microseconds == 0 || time < best.microseconds) best = {time, is_tuned(cell.name)};
      } else if (cell.workload == "all_reduce" && cell.operation != "call") {
        row.bound_us = row.bound_us == 0 ? time : std::min(row.bound_us, time);
      }
    }
    auto& rate = row.rates;
    const Rates rates{rate["read"], std::max(rate["write"], rate["write_nt"]),
                      std::max(rate["copy"], rate["copy_nt"]), rate["exchange"]};
    const Traffic traffic = work.workload == "adam"
                                ? adam_traffic(elements_, kRanks, work.dtype == "f16" ? 2 : 4)
                                : all_reduce_traffic(elements_, kRanks);
    row.floor_us = floor_of(traffic, rates, row.round_trip);
    return row;
  }

  bool is_tuned(const std::string& name) const {
    const auto found = std::find_if(setup_.peers.begin(), setup_.peers.end(),
                                    [&](const Peer& peer) { return peer.name == name; });
    return found != setup_.peers.end() && found->tuned;
  }

  const Setup& setup_;
  std::int64_t elements_;
  std::vector<Participant> participants_;
  std::vector<Cell> cells_;
};

}  // namespace

SizeResult measure_size(const Setup& setup, std::int64_t elements) {
  return OneSize(setup, elements).run();
}

double memory_needed(const Setup& setup, std::int64_t elements) {
  const double array = 4.0 * static_cast<double>(elements);
  // Of a peer's rank g, total, p, m, v, g in f16 and its pieces, and as much as one for its own
  // use; of ours x, y, and twice g, p and half of m, v; of the floors two arrays each.
  const double peers = 7 * array * static_cast<double>(setup.peers.size());
  const double others = 2 * array + 6 * array + 2 * array + 3 * array;
  return kRanks * (peers + others);
}

}  // namespace coconet::bench
