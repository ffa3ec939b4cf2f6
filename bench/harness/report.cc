#include "bench/harness/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "bench/harness/workload.h"
#include "coconet/io/write_file.h"

namespace coconet::bench {

std::string Row::best(bool defaults_alone) const {
  std::string out;
  const auto order = [](const PeerTime& time) { return std::pair(time.out, time.microseconds); };
  for (const auto& [name, time] : peers) {
    if (defaults_alone && time.tuned) continue;
    if (out.empty() || order(time) < order(peers.at(out))) out = name;
  }
  return out;
}

double Row::ratio(const std::string& peer) const {
  const auto found = peers.find(peer);
  return found == peers.end() || us <= 0 ? 0 : found->second.microseconds / us;
}

namespace {

std::string text(const char* format, double value) {
  char out[40];
  std::snprintf(out, sizeof out, format, value);
  return value == 0 ? "-" : out;
}

std::string time_text(double microseconds) {
  return text(microseconds < 100 ? "%.2f" : "%.0f", microseconds);
}

constexpr const char* kLegend =
    "N: ranks. S, D: placement of ranks 0 and 1, on cores that share a cache of the last level, or "
    "not, told by a flag's round trip.\n"
    "ours us: microseconds of a call of ours with that schedule; staged: on arrays of one's own, "
    "not registered.\n"
    "floor us: the least that must be moved or, of matmul, multiplied takes; % of ours.\n"
    "best peer, best default: the fastest library with any settings, with its default ones; "
    "ratio: its time / ours, above 1 ours is faster.\n"
    "sum alone: us of the best peer's all_reduce alone, of a workload that has one inside.\n"
    "Lines below a row: us of ours in another way; \"the row's ours takes 0.50 of it\": the "
    "nearest row above took half as long as that.\n";

void print_row(const Row& row) {
  const std::string tuned = row.best(false), plain = row.best(true);
  const auto peer = [&](const std::string& name) {
    return name.empty() ? std::string("-")
                        : time_text(row.peers.at(name).microseconds) + " " + name;
  };
  std::printf("%-10s %4s %13s %d %2s %-10s %9s | %9s %5s | %22s %6s | %16s %6s | %9s\n",
              row.registered ? row.workload.c_str() : "  staged", row.dtype.c_str(),
              size_text(row.problem).c_str(), row.ranks, row.placement.c_str(),
              row.schedule == "none" ? "-" : row.schedule.c_str(), time_text(row.us).c_str(),
              time_text(row.floor_us).c_str(), text("%.0f%%", 100 * row.floor_us / row.us).c_str(),
              peer(tuned).c_str(), text("%.2fx", row.ratio(tuned)).c_str(), peer(plain).c_str(),
              text("%.2fx", row.ratio(plain)).c_str(), time_text(row.bound_us).c_str());
  for (const auto& [name, microseconds] : row.others) {
    std::printf("%54s %s: the row's ours takes %.2f of it\n", time_text(microseconds).c_str(),
                name.c_str(), row.us / microseconds);
  }
  if (row.through_memory_us > 0) {
    std::printf("%54s the product, and the floor of what follows it\n",
                time_text(row.through_memory_us).c_str());
  }
}

// Elements, and of a list how many members; or rows and columns, and what a product sums.
std::vector<std::pair<std::string, std::int64_t>> sizes_of(const Problem& problem) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  if (problem.m > 0) {
    out = {{"m", problem.m}, {"n", problem.n}};
    if (problem.k > 0) out.push_back({"k", problem.k});
    return out;
  }
  out = {{"elements", problem.elements}};
  if (!problem.members.empty()) out.push_back({"members", std::ssize(problem.members)});
  return out;
}

}  // namespace

void sort_rows(std::vector<Row>& rows) {
  const std::vector<std::string> order = {"all_reduce", "adam",     "lamb",  "adam_list",
                                          "lamb_list",  "rms_norm", "matmul"};
  const auto place = [&](const Row& row) {
    const auto workload = std::find(order.begin(), order.end(), row.workload) - order.begin();
    return std::tuple(row.ranks, workload, row.dtype != "f32");
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return place(a) < place(b); });
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-10s %4s %13s %s %2s %-10s %9s | %9s %5s | %22s %6s | %16s %6s | %9s\n", "workload",
              "", "size", "N", "", "schedule", "ours us", "floor us", "", "best peer us", "ratio",
              "best default us", "ratio", "sum alone");
  for (const Row& row : rows) print_row(row);
  std::fputs(kLegend, stdout);
}

void write_json(const std::string& path, const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json peers = nlohmann::ordered_json::object();
    for (const auto& [name, time] : row.peers) peers[name] = time.microseconds;
    const auto name_of = [](const std::string& name) {
      return name.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(name);
    };
    const auto number = [](double value) {
      return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    const std::string best = row.best(false), plain = row.best(true);
    nlohmann::ordered_json object = {
        {"workload", row.workload}, {"ranks", row.ranks}, {"dtype", row.dtype}};
    for (const auto& [name, value] : sizes_of(row.problem)) object[name] = value;
    object.update({{"registered", row.registered},
                   {"fresh", row.fresh},
                   {"placement", row.placement},
                   {"round_trip_ns", row.round_trip},
                   {"us", row.us},
                   {"floor_us", number(row.floor_us)},
                   {"peers", peers},
                   {"best_peer", name_of(best)},
                   {"ratio_to_best_peer", number(row.ratio(best))},
                   {"best_default", name_of(plain)},
                   {"ratio_to_best_default", number(row.ratio(plain))},
                   {"all_reduce_alone_us", number(row.bound_us)},
                   {"through_memory_us", number(row.through_memory_us)},
                   {"fraction_of_floor", number(row.floor_us / row.us)},
                   {"schedule", row.schedule},
                   {"others", row.others},
                   {"rates_gb_s", row.rates}});
    list.push_back(object);
  }
  const std::string out = list.dump(2) + "\n";
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(out))};
  write_file(path, parts);
}

}  // namespace coconet::bench
