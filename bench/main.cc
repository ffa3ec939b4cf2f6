// Measures our programs and other libraries side by side, in one run; docs/performance.md says how.
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <optional>

#include "bench/harness/one_size.h"
#include "coconet/base/error.h"
#include "coconet/runtime/memory.h"

namespace coconet::bench {
namespace {

struct Wanted {
  bool full = false, smoke = false;
  std::vector<int> powers;
  int rounds = 0;
  std::vector<std::string> also;
  std::string only;
  bool no_peers = false, stale = false;
  std::vector<std::string> open_mpi_options;
  std::string json = "build/bench.json";
};

Wanted read_arguments(int argc, char** argv) {
  Wanted out;
  CLI::App app("Measures our programs and other libraries side by side (docs/performance.md).");
  app.add_flag("--full", out.full, "every power of two, more repeats");
  app.add_flag("--smoke", out.smoke, "tiny sizes, no peers: does it work at all");
  app.add_flag("--no-peers", out.no_peers, "ours alone");
  app.add_option(
      "--also", out.also,
      "NAME=PATH: ours of another build too, PATH its <build>/bench; or compiled with the "
      "kernel headers in PATH/coconet/kernel; repeatable");
  app.add_option("--only", out.only, "one workload: all_reduce or adam")
      ->check(CLI::IsMember({"all_reduce", "adam"}));
  app.add_flag("--stale", out.stale, "inputs stay as they are between iterations");
  app.add_option("--openmpi", out.open_mpi_options,
                 "options of mpirun, one word: one more tuned setting; repeatable");
  app.add_option("--powers", out.powers, "sizes 2^K alone, as 10,14")->delimiter(',');
  app.add_option("--rounds", out.rounds, "batches of each cell after each start");
  app.add_option("--json", out.json, "the file that gets the rows");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return out;
}

std::vector<int> powers_of(const Wanted& wanted) {
  if (!wanted.powers.empty()) return wanted.powers;
  if (wanted.smoke) return {0, 11};
  if (!wanted.full) return {10, 14, 18, 20, 22, 24};
  std::vector<int> out;
  for (int power = 0; power <= 26; ++power) out.push_back(power);
  return out;
}

Effort effort_of(const Wanted& wanted) {
  Effort out;
  if (wanted.full) out.starts = 3;
  if (wanted.smoke)
    out = {.rounds = 2, .starts = 1, .batch_microseconds = 500, .fewest_batches = 1};
  if (wanted.rounds > 0) out.rounds = wanted.rounds;
  return out;
}

std::vector<int> cores() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set) && static_cast<int>(out.size()) < kRanks) out.push_back(core);
  }
  return out;
}

// Seconds that the cores were busy, whoever kept them so (or took them from this machine).
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  file >> word >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
  return (user + nice + system + irq + soft + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  double out = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    out += static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  return out;
}

// How much of a core others used meanwhile: figures from a busy machine are worth little.
class Others {
 public:
  Others() : busy_(busy_seconds()), own_(own_seconds()), since_(time(nullptr)) {}
  double cores() const {
    const double seconds = std::max<double>(1, static_cast<double>(time(nullptr) - since_));
    return std::max(0.0, (busy_seconds() - busy_) - (own_seconds() - own_)) / seconds;
  }

 private:
  double busy_, own_;
  time_t since_;
};

int run(const Wanted& wanted, const std::string& folder) {
  Setup setup{.folder = folder,
              .cores = cores(),
              .peers = {},
              .only = wanted.only,
              .fresh = !wanted.stale,
              .effort = effort_of(wanted)};
  for (const std::string& text : wanted.also) setup.others.push_back(other_of(text, folder));
  std::printf("ranks %d on cores", kRanks);
  for (const int core : setup.cores) std::printf(" %d", core);
  std::printf("; buffers of ours registered\n");
  if (!wanted.smoke && !wanted.no_peers) {
    const PeerList peers = find_peers(folder, wanted.open_mpi_options);
    setup.peers = peers.there;
    for (const Peer& peer : peers.there) {
      std::printf("peer %s: %s\n", peer.name.c_str(), peer.settings.c_str());
    }
    for (const std::string& absent : peers.absent) std::printf("absent: %s\n", absent.c_str());
  }
  const Others others;
  std::vector<Row> rows;
  int kept = 0, thrown_away = 0;
  double empty = 0;
  for (const int power : powers_of(wanted)) {
    const std::int64_t elements = std::int64_t{1} << power;
    Setup here = setup;
    const auto available = runtime::available_memory();
    here.effort.stay =
        !available || memory_needed(setup, elements) < 0.8 * static_cast<double>(*available);
    if (!here.effort.stay) {  // each batch is a start
      here.effort.starts = 1;
      here.effort.rounds = std::min(here.effort.rounds, 4);
    }
    const SizeResult result = measure_size(here, elements);
    if (result.rows.empty()) std::fprintf(stderr, "bench: nothing kept at 2^%d\n", power);
    rows.insert(rows.end(), result.rows.begin(), result.rows.end());
    kept += result.kept;
    thrown_away += result.thrown_away;
    empty = std::max(empty, result.empty_microseconds);
    if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "2^%d done\n", power);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    // all_reduce, adam in f32, adam in f16
    return std::pair(a.workload, a.dtype) > std::pair(b.workload, b.dtype);
  });
  print_table(rows);
  std::printf(
      "%d batches, %d thrown away as the placement changed; an iteration that does nothing "
      "takes %.2f us; others used %.2f cores\n",
      kept, thrown_away, empty, others.cores());
  write_json(wanted.json, rows);
  return 0;
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  signal(SIGPIPE, SIG_IGN);
  try {
    const Wanted wanted = read_arguments(argc, argv);
    const std::string self = std::filesystem::canonical("/proc/self/exe").parent_path().string();
    return run(wanted, self);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}
