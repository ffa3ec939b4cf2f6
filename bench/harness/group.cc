#include "bench/harness/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/worker/floor_passes.h"
#include "coconet/base/error.h"

namespace coconet::bench {

namespace {

const std::string kOurs = "coconet", kStaged = "staged";
constexpr std::int64_t kLeastFootprint = 4096;
// The sum of N ranks in another order than theirs, of numbers up to 2N.
double sum_bound(const std::string& dtype, int ranks) {
  if (ranks == 2) return dtype == "f32" ? 0 : 0x1p-8;
  return (dtype == "f32" ? 0x1p-22 : 0x1p-6) * ranks;
}

// Ours with its buffers in arrays of its own too (plan/staging.h).
bool is_staged_too(const Workload& workload) {
  return workload.name == "all_reduce" || workload.name == "adam";
}

// The same, of ours with buffers that are not registered, if that was measured.
std::optional<Row> staged_row(const Row& row, const Workload& workload) {
  const auto staged = row.others.find(kStaged);
  if (row.us <= 0 || staged == row.others.end()) return std::nullopt;
  Row out = row;
  out.registered = false;
  out.schedule = workload.schedule;
  out.us = staged->second;
  out.others = {{"registered", row.us}};
  return out;
}

// A participant and its cells are made together; then all are measured; then rows are read off.
class OneGroup {
 public:
  OneGroup(const Setup& setup, const Group& group) : setup_(setup), group_(group) {
    for (const Workload& workload : group.workloads) {
      add_floor(workload);
      if (workload.product) add_product(workload);
    }
    std::vector<Other> ours = {{kOurs, setup.folder + "/coconet"}};
    ours.insert(ours.end(), setup.others.begin(), setup.others.end());
    for (const Other& each : ours) {
      for (const Workload& workload : group.workloads) add_ours(workload, workload.name, each);
    }
    for (const Workload& workload : group.workloads) {
      if (is_staged_too(workload)) {
        add_ours(workload, workload.name, {kStaged, setup.folder + "/coconet"});
      }
      if (workload.name == "all_reduce") continue;
      if (setup.unscheduled) {
        add_ours(workload, workload.name, {"unscheduled", setup.folder + "/coconet"});
      }
      if (!workload.small_schedule.empty()) {
        add_ours(workload, workload.name, {workload.small_schedule, setup.folder + "/coconet"});
      }
      if (workload.product) {
        add_ours(workload, workload.name, {"changing weights", setup.folder + "/coconet"});
      }
      if (!workload.contiguous.empty()) {
        add_ours(workload, workload.contiguous, {"contiguous", setup.folder + "/coconet"});
      }
    }
    for (const Peer& peer : setup.peers) add_peer(peer);
  }

  GroupResult run() {
    measure(participants_, cells_, setup_.effort, kOurs);
    GroupResult out;
    for (const Workload& workload : group_.workloads) {
      for (const std::string placement : {"S", "D"}) {
        const Row row = row_of(workload, placement);
        if (row.us > 0) out.rows.push_back(row);
        if (const auto staged = staged_row(row, workload)) out.rows.push_back(*staged);
      }
    }
    for (const Cell& cell : cells_) {
      out.thrown_away += cell.thrown_away;
      for (const auto& [placement, medians] : cell.medians) {
        out.kept += static_cast<int>(medians.size());
        if (cell.operation != "empty") continue;
        out.empty_microseconds = std::max(out.empty_microseconds, median(cell, placement));
      }
    }
    return out;
  }

 private:
  void add(Program program) {
    program.ranks = setup_.ranks;
    program.cores = setup_.cores;
    program.words["fresh"] = setup_.fresh ? "yes" : "no";
    participants_.emplace_back(std::move(program));
  }

  void add_cell(const std::string& workload, const std::string& dtype, const std::string& name,
                const std::string& operation, double bound) {
    Cell cell;
    cell.workload = workload;
    cell.dtype = dtype;
    cell.name = name;
    cell.participant = participants_.size() - 1;
    cell.operation = operation;
    cell.bound = bound;
    cells_.push_back(std::move(cell));
  }

  // Workloads that work on as much memory share one.
  std::string floor_of_workload(const Workload& workload) const {
    return "floor " + std::to_string(footprint_of(workload, group_.problem, setup_.ranks));
  }

  void add_floor(const Workload& workload) {
    const std::string key = floor_of_workload(workload);
    if (std::any_of(cells_.begin(), cells_.end(), [&](auto& c) { return c.workload == key; })) {
      return;
    }
    const int ranks = setup_.ranks;
    const std::int64_t bytes =
        std::max(footprint_of(workload, group_.problem, ranks), kLeastFootprint);
    const std::int64_t exchanged =
        std::max(exchanged_of(workload, group_.problem, ranks), kLeastFootprint);
    add({.name = "memory",
         .command = {setup_.folder + "/memory"},
         .words = {{"bytes", std::to_string(bytes)}, {"exchanged", std::to_string(exchanged)}}});
    for (const FloorOperation& operation : kFloorOperations) {
      const std::int64_t array = operation.exchanged ? exchanged : bytes;
      const std::int64_t passes = operation.exchanged ? 1 : floor_passes(bytes);
      add_cell(key, "", "memory", operation.name, 0);
      cells_.back().bytes = static_cast<double>(array * passes * ranks) * operation.arrays;
    }
    add_cell(key, "", "memory", "empty", 0);
  }

  void add_product(const Workload& workload) {
    auto words = words_of(group_.problem);
    words["dtype"] = workload.dtype;
    add({.name = "gemm",
         .command = {setup_.folder + "/gemm"},
         .words = words,
         .variables = {"OMP_NUM_THREADS=1"}});
    add_cell(workload.name, workload.dtype, "gemm", "gemm", 0);
  }

  void add_ours(const Workload& workload, const std::string& program, const Other& of) {
    Problem problem = group_.problem;
    if (program != workload.name) problem.members.clear();  // contiguous
    auto words = words_of(problem);
    words["program"] = program;
    words["dtype"] = workload.dtype;
    words["schedule"] = of.name == "unscheduled" ? "none" : workload.schedule;
    if (of.name == workload.small_schedule) words["schedule"] = of.name;
    if (of.name == "changing weights") words["weights"] = "changing";
    if (of.name == kStaged) words["staged"] = "yes";
    add({.name = of.name, .command = {of.program}, .words = words, .variables = of.variables});
    add_cell(workload.name, workload.dtype, of.name, "call", workload.bound);
  }

  void add_peer(const Peer& peer) {
    Program program = peer.program;
    program.words.merge(words_of(group_.problem));
    program.words["group"] = group_.name;
    add(std::move(program));
    const std::size_t first = cells_.size();
    std::vector<std::string> sums;
    for (const Workload& workload : group_.workloads) {
      if (!peer.has(workload.name, workload.dtype)) continue;
      // The sum alone, of a group that has none: not a row, but what bounds the others.
      if (std::find(sums.begin(), sums.end(), workload.summed) == sums.end()) {
        sums.push_back(workload.summed);
        add_cell("all_reduce", workload.summed, peer.name,
                 "all_reduce." + workload.summed + "/plain",
                 sum_bound(workload.summed, setup_.ranks));
      }
      if (workload.name == "all_reduce") continue;
      const std::string name = workload.name + "." + workload.dtype + "/";
      for (const std::string& form : workload.forms) {
        if (peer.has_form(form)) {
          add_cell(workload.name, workload.dtype, peer.name, name + form, workload.bound);
        }
      }
    }
    for (std::size_t i = first; i < cells_.size(); ++i) {
      cells_[i].peer = true;
      cells_[i].tuned = peer.tuned;
    }
  }

  double median(const Cell& cell, const std::string& placement) const {
    return median_of(cell.medians, placement, setup_.effort.fewest_batches);
  }

  Row row_of(const Workload& workload, const std::string& placement) const {
    Row row;
    row.workload = workload.name;
    row.dtype = workload.dtype;
    row.ranks = setup_.ranks;
    row.problem = group_.problem;
    row.fresh = setup_.fresh;
    row.placement = placement;
    double product = 0, small = 0;
    for (const Cell& cell : cells_) {
      const double time = median(cell, placement);
      if (time <= 0) continue;
      const bool here = cell.workload == workload.name && cell.dtype == workload.dtype;
      if (cell.workload == floor_of_workload(workload) && cell.bytes > 0) {
        row.rates[cell.operation] = cell.bytes / time * 1e-3;
      } else if (here && cell.operation == "gemm") {
        product = time;
      } else if (here && cell.name == kOurs) {
        row.us = time;
        row.round_trip = median_of(cell.round_trips, placement, 1);
      } else if (here && cell.operation == "call") {
        row.others[cell.name] = time;
        if (cell.name == workload.small_schedule) small = time;
      } else if (here) {
        PeerTime& best = row.peers[cell.name];
        const bool better = std::pair(cell.out, time) < std::pair(best.out, best.microseconds);
        if (best.microseconds == 0 || better) best = {time, cell.tuned, cell.out};
      }
      if (cell.workload == "all_reduce" && cell.dtype == workload.summed && !cell.out &&
          cell.operation != "call" && workload.name != "all_reduce") {
        row.bound_us = row.bound_us == 0 ? time : std::min(row.bound_us, time);
      }
    }
    set_floor(row, workload, product);
    choose_schedule(row, workload, small);
    return row;
  }

  // Ours is the quicker of two schedules, as a peer's is the quicker of two forms.
  static void choose_schedule(Row& row, const Workload& workload, double small) {
    row.schedule = workload.schedule;
    if (row.us == 0 || small == 0 || small >= row.us) return;
    row.others[workload.schedule] = row.us;
    row.others.erase(workload.small_schedule);
    row.us = small;
    row.schedule = workload.small_schedule;
  }

  void set_floor(Row& row, const Workload& workload, double product) const {
    const auto rate = [&](const std::string& name) {
      const auto found = row.rates.find(name);
      return found == row.rates.end() ? 0.0 : found->second;
    };
    const Rates rates = {.read = rate("read"),
                         .write = std::max(rate("write"), rate("write_nt")),
                         .copy = std::max(rate("copy"), rate("copy_nt")),
                         .exchange = rate("exchange")};
    const double moved =
        floor_of(traffic_of(workload, group_.problem, setup_.ranks), rates, row.round_trip);
    row.floor_us = workload.product ? product : moved;
    if (workload.product && product > 0 && moved > 0) row.through_memory_us = product + moved;
  }

  const Setup& setup_;
  const Group& group_;
  std::vector<Participant> participants_;
  std::vector<Cell> cells_;
};

}  // namespace

Group wanted_of(Group group, const std::vector<std::string>& only) {
  if (only.empty()) return group;
  std::erase_if(group.workloads, [&](const Workload& workload) {
    return std::find(only.begin(), only.end(), workload.name) == only.end();
  });
  return group;
}

GroupResult measure_group(const Setup& setup, const Group& group) {
  return OneGroup(setup, group).run();
}

double memory_needed(const Setup& setup, const Group& group) {
  double out = 0;
  for (const Workload& workload : group.workloads) {
    const bool three =
        !workload.contiguous.empty() || workload.product || !workload.small_schedule.empty();
    const double programs = (three ? 3 : 2) + (is_staged_too(workload) ? 2 : 0) +
                            static_cast<double>(setup.others.size());
    out += programs * memory_of_ours(workload, group.problem, setup.ranks);
    out += 3.0 * static_cast<double>(footprint_of(workload, group.problem, setup.ranks));
  }
  out += memory_of_peer(group, setup.ranks) * static_cast<double>(setup.peers.size());
  return out * setup.ranks;
}

void check_memory(const Group& group, int ranks, std::uint64_t available) {
  for (const Workload& workload : group.workloads) {
    const double needed = memory_of_ours(workload, group.problem, ranks) * ranks;
    if (needed <= static_cast<double>(available)) continue;
    throw UserError(ErrorKind::usage,
                    fmt::format("{} of {} takes {:.1f} GB on {} ranks, and {:.1f} GB are left; "
                                "give smaller sizes (--help), or fewer ranks",
                                workload.name, size_text(group.problem), 1e-9 * needed, ranks,
                                1e-9 * static_cast<double>(available)));
  }
}

}  // namespace coconet::bench
