#include "bench/harness/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "bench/harness/group.h"
#include "coconet/base/error.h"
#include "coconet/io/write_file.h"

namespace coconet::bench {
namespace {

constexpr std::int64_t kMostRanks = 64, kMostPower = 30, kMostScale = 1 << 20, kMostRounds = 10'000;
constexpr std::int64_t kMostRows = kMostElements / kColumns;

[[noreturn]] void refuse(const std::string& found, const std::string& needed) {
  throw UserError(ErrorKind::usage, found + ": " + needed);
}

void add_options(CLI::App& app, Request& out) {
  app.add_flag("--full", out.full, "more sizes; 2, 4 and 8 ranks");
  app.add_flag("--smoke", out.smoke, "tiny sizes, no peers: does it work at all");
  app.add_option("--ranks", out.ranks, "ranks, as 2,4; more than cores share them")->delimiter(',');
  app.add_option("--powers", out.powers, "all_reduce and optimizers, of 2^K elements: 10,14")
      ->delimiter(',');
  app.add_option("--lists", out.lists, "BERT-large's 396 tensors, 1/SCALE of their size: 64")
      ->delimiter(',');
  app.add_option("--rows", out.rows, "rms_norm, of M rows of 4096 columns: 1,512")->delimiter(',');
  app.add_option("--products", out.products, "matmul, MxNxK, K of each rank: 64x1024x512")
      ->delimiter(',');
  app.add_option("--only", out.only, "these workloads, as adam,lamb_list")->delimiter(',');
  app.add_option("--peers", out.peers, "peers whose names begin so, as openmpi5,impi-13")
      ->delimiter(',');
  app.add_flag("--no-peers", out.no_peers, "ours alone");
  app.add_option(
      "--also", out.also,
      "NAME=PATH: ours of another build too, PATH its <build>/bench; or compiled with the "
      "kernel headers in PATH/coconet/kernel; repeatable");
  app.add_flag("--stale", out.stale, "inputs stay as they are between iterations");
  app.add_option("--openmpi", out.open_mpi_options,
                 "options of mpirun, one word: one more tuned setting; repeatable");
  app.add_option("--rounds", out.rounds, "batches of each cell after each start");
  app.add_option("--json", out.json, "the file that gets the rows")->take_last();
}

void check_range(const std::string& option, const std::vector<std::int64_t>& values,
                 std::int64_t least, std::int64_t most, const std::string& of) {
  for (const std::int64_t value : values) {
    if (value >= least && value <= most) continue;
    refuse(fmt::format("{} {}", option, value),
           fmt::format("needed is {} to {}, {}", least, most, of));
  }
}

Group products_of(const std::string& text) {
  long long m = 0, n = 0, k = 0;
  char end = 0;
  const int read = std::sscanf(text.c_str(), "%lldx%lldx%lld%c", &m, &n, &k, &end);
  const auto fits = [](long long a, long long b) {
    return a >= 1 && b >= 1 && a <= kMostElements && b <= kMostElements / a;
  };
  if (read != 3 || !fits(m, n) || !fits(m, k) || !fits(n, k)) {
    refuse("--products " + text,
           "needed is MxNxK, as 64x1024x512, each at least 1, and MxK, KxN and MxN at most 2^30");
  }
  return products_group(m, n, k);
}

// A figure is of Effort::fewest_batches batches of one placement.
void check_rounds(const Request& request) {
  if (!request.rounds) return;
  const Effort effort = effort_of(request);
  const int least = (effort.fewest_batches + effort.starts - 1) / effort.starts;
  check_range("--rounds", {*request.rounds}, least, kMostRounds,
              fmt::format("as a figure is the median of at least {} batches of one placement, and "
                          "after each of {} starts a round has one; more are better, as those "
                          "whose placement changes are thrown away",
                          effort.fewest_batches, effort.starts));
}

struct SizeOption {
  std::string name;
  bool given;
  std::vector<std::string> workloads = {};
};

// Which option gives the sizes of which workloads.
std::vector<SizeOption> size_options(const Request& request) {
  std::vector<SizeOption> out;
  const auto add = [&](const std::string& name, bool given, const Group& group) {
    out.push_back({name, given});
    std::vector<std::string>& names = out.back().workloads;
    for (const Workload& each : group.workloads) {
      if (std::find(names.begin(), names.end(), each.name) == names.end()) {
        names.push_back(each.name);
      }
    }
  };
  add("--powers", !request.powers.empty(), optimizers_group(1));
  add("--lists", !request.lists.empty(), lists_group(1));
  add("--rows", !request.rows.empty(), rows_group(1, kColumns));
  add("--products", !request.products.empty(), products_group(1, 1, 1));
  return out;
}

void check_only(const Request& request) {
  const std::vector<SizeOption> options = size_options(request);
  std::vector<std::string> names, given;
  for (const SizeOption& option : options) {
    names.insert(names.end(), option.workloads.begin(), option.workloads.end());
    if (option.given) given.push_back(option.name);
  }
  for (const std::string& name : request.only) {
    const auto of = std::find_if(options.begin(), options.end(), [&](const SizeOption& option) {
      return std::count(option.workloads.begin(), option.workloads.end(), name) > 0;
    });
    if (of == options.end()) {
      refuse("--only " + name,
             fmt::format("there is no such workload; there are {}", fmt::join(names, ", ")));
    }
    if (given.empty() || of->given) continue;
    refuse(
        "--only " + name,
        fmt::format("{} gives its sizes, and where sizes are given there are no others; found {}",
                    of->name, fmt::join(given, ", ")));
  }
  for (const SizeOption& option : options) {
    const bool used = std::ranges::any_of(option.workloads, [&](const std::string& name) {
      return std::ranges::count(request.only, name) > 0;
    });
    if (!option.given || used || request.only.empty()) continue;
    refuse(fmt::format("{} with --only {}", option.name, fmt::join(request.only, ",")),
           fmt::format("it gives sizes of {} alone, none of which is measured",
                       fmt::join(option.workloads, ", ")));
  }
}

// Before half an hour of measuring, not after.
void check_json(const std::string& path) {
  try {
    check_writable(path);
  } catch (const UserError& error) {
    refuse("--json " + error.message(), "needed is a file that can be written");
  }
}

void check_request(const Request& request) {
  check_range("--ranks", request.ranks, 1, kMostRanks, "ranks");
  check_range("--powers", request.powers, 0, kMostPower, "for 2^K elements");
  check_range("--lists", request.lists, 1, kMostScale, "by which tensors are divided");
  check_range("--rows", request.rows, 1, kMostRows, fmt::format("rows of {}", kColumns));
  for (const std::string& text : request.products) products_of(text);
  check_rounds(request);
  check_only(request);
  check_json(request.json);
  if (!request.peers.empty() && (request.no_peers || request.smoke)) {
    refuse(fmt::format("--peers {}", fmt::join(request.peers, ",")),
           fmt::format("with {} no peer is measured; leave one of them out",
                       request.no_peers ? "--no-peers" : "--smoke"));
  }
}

// What is measured where no size is given.
void set_sizes(Request& request, int ranks) {
  if (request.smoke) {
    request.powers = {0, 11};
    request.lists = {kMostScale};
    request.rows = {3};
    request.products = {"5x64x32"};
    return;
  }
  request.powers = {10, 14, 18, 20, 22, 24};
  request.lists = {64};
  request.rows = {1, 64, 512};
  request.products = {"64x1024x512", "1024x3072x384"};
  if (!request.full) return;
  if (ranks != 2) {
    request.powers = {10, 14, 18, 22};
    return;
  }
  request.powers.clear();
  for (int power = 0; power <= 26; ++power) request.powers.push_back(power);
  request.lists = {64, 8};
  request.rows = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  request.products = {"64x1024x512", "512x1024x512", "2048x3072x1536"};
  for (const std::string m : {"1024", "2048", "4096", "8192"}) {
    for (const std::string k : {"384", "768"}) request.products.push_back(m + "x3072x" + k);
  }
}

}  // namespace

Request read_request(int argc, const char* const* argv) {
  Request out;
  CLI::App app(
      "Measures our programs and other libraries side by side (docs/performance.md). Sizes that "
      "are given replace all others.");
  add_options(app, out);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  check_request(out);
  return out;
}

std::vector<int> ranks_of(const Request& request) {
  if (!request.ranks.empty()) return {request.ranks.begin(), request.ranks.end()};
  if (request.smoke) return {2, 4};
  return request.full ? std::vector<int>{2, 4, 8} : std::vector<int>{2};
}

Effort effort_of(const Request& request) {
  Effort out;
  if (request.smoke) {
    out = {.rounds = 2, .starts = 1, .batch_microseconds = 500, .fewest_batches = 1};
  }
  if (request.rounds) out.rounds = static_cast<int>(*request.rounds);
  return out;
}

std::vector<Group> groups_of(Request request, int ranks) {
  const bool given = !request.powers.empty() || !request.lists.empty() || !request.rows.empty() ||
                     !request.products.empty();
  if (!given) set_sizes(request, ranks);
  std::vector<Group> out;
  for (const std::int64_t power : request.powers) {
    out.push_back(optimizers_group(std::int64_t{1} << power));
    const bool tiny = request.full && !given && power < 10;  // no optimizer has so few
    if (tiny) out.back() = wanted_of(out.back(), {"all_reduce"});
  }
  for (const std::int64_t scale : request.lists) out.push_back(lists_group(scale));
  for (const std::int64_t m : request.rows) out.push_back(rows_group(m, kColumns));
  for (const std::string& text : request.products) out.push_back(products_of(text));
  for (Group& group : out) group = wanted_of(group, request.only);
  std::erase_if(out, [](const Group& group) { return group.workloads.empty(); });
  return out;
}

}  // namespace coconet::bench
