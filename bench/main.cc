// Measures our programs and other libraries side by side, in one run; docs/performance.md says how.
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <optional>

#include "bench/harness/group.h"
#include "coconet/base/error.h"
#include "coconet/runtime/memory.h"
#include "coconet_paths.h"

namespace coconet::bench {
namespace {

struct Wanted {
  bool full = false, smoke = false;
  std::vector<int> ranks;
  std::vector<int> powers;
  std::vector<std::int64_t> lists, rows;
  std::vector<std::string> products;
  int rounds = 0;
  std::vector<std::string> also, only, peers;
  bool no_peers = false, stale = false;
  std::vector<std::string> open_mpi_options;
  std::string json = "build/bench.json";
};

void add_options(CLI::App& app, Wanted& out) {
  app.add_flag("--full", out.full, "more sizes; 2, 4 and 8 ranks");
  app.add_flag("--smoke", out.smoke, "tiny sizes, no peers: does it work at all");
  app.add_option("--ranks", out.ranks, "ranks, as 2,4; more than cores share them")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--powers", out.powers, "all_reduce and optimizers, of 2^K elements: 10,14")
      ->delimiter(',');
  app.add_option("--lists", out.lists, "BERT-large's 396 tensors, 1/SCALE of their size: 64")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--rows", out.rows, "rms_norm, of M rows of 4096 columns: 1,512")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--products", out.products, "matmul, MxNxK, K of each rank: 64x1024x512")
      ->delimiter(',');
  app.add_option("--only", out.only, "these workloads, as adam,lamb_list")->delimiter(',');
  app.add_option("--peers", out.peers, "peers whose names begin so, as openmpi5,impi")
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
  app.add_option("--json", out.json, "the file that gets the rows");
}

Wanted read_arguments(int argc, char** argv) {
  Wanted out;
  CLI::App app(
      "Measures our programs and other libraries side by side (docs/performance.md). Sizes that "
      "are "
      "given replace all others.");
  add_options(app, out);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return out;
}

Group products_of(const std::string& text) {
  long long m = 0, n = 0, k = 0;
  char end = 0;
  const int read = std::sscanf(text.c_str(), "%lldx%lldx%lld%c", &m, &n, &k, &end);
  if (read != 3 || m < 1 || n < 1 || k < 1) {
    throw UserError(ErrorKind::usage, "--products " + text + ": needed is MxNxK, as 64x1024x512");
  }
  return products_group(m, n, k);
}

// What is measured where no size is given.
void set_sizes(Wanted& wanted, int ranks) {
  if (wanted.smoke) {
    wanted.powers = {0, 11};
    wanted.lists = {1 << 20};
    wanted.rows = {3};
    wanted.products = {"5x64x32"};
    return;
  }
  wanted.powers = {10, 14, 18, 20, 22, 24};
  wanted.lists = {64};
  wanted.rows = {1, 64, 512};
  wanted.products = {"64x1024x512", "1024x3072x384"};
  if (!wanted.full) return;
  if (ranks != 2) {
    wanted.powers = {10, 14, 18, 22};
    return;
  }
  wanted.powers.clear();
  for (int power = 0; power <= 26; ++power) wanted.powers.push_back(power);
  wanted.lists = {64, 8};
  wanted.rows = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  wanted.products = {"64x1024x512", "512x1024x512", "2048x3072x1536"};
  for (const std::string m : {"1024", "2048", "4096", "8192"}) {
    for (const std::string k : {"384", "768"}) wanted.products.push_back(m + "x3072x" + k);
  }
}

std::vector<Group> groups_of(Wanted wanted, int ranks) {
  const bool given = !wanted.powers.empty() || !wanted.lists.empty() || !wanted.rows.empty() ||
                     !wanted.products.empty();
  if (!given) set_sizes(wanted, ranks);
  std::vector<Group> out;
  for (const int power : wanted.powers) {
    out.push_back(optimizers_group(std::int64_t{1} << power));
    const bool tiny = wanted.full && !given && power < 10;  // no optimizer has so few
    if (tiny) out.back() = wanted_of(out.back(), {"all_reduce"});
  }
  for (const std::int64_t scale : wanted.lists) out.push_back(lists_group(scale));
  for (const std::int64_t m : wanted.rows) out.push_back(rows_group(m, 4096));
  for (const std::string& text : wanted.products) out.push_back(products_of(text));
  for (Group& group : out) group = wanted_of(group, wanted.only);
  std::erase_if(out, [](const Group& group) { return group.workloads.empty(); });
  if (out.empty()) throw UserError(ErrorKind::usage, "--only: no such workload of these sizes");
  return out;
}

std::vector<int> ranks_of(const Wanted& wanted) {
  if (!wanted.ranks.empty()) return wanted.ranks;
  if (wanted.smoke) return {2, 4};
  return wanted.full ? std::vector<int>{2, 4, 8} : std::vector<int>{2};
}

Effort effort_of(const Wanted& wanted) {
  Effort out;
  if (wanted.smoke)
    out = {.rounds = 2, .starts = 1, .batch_microseconds = 500, .fewest_batches = 1};
  if (wanted.rounds > 0) out.rounds = wanted.rounds;
  return out;
}

// The first two: figures are filed by how far these are apart.
std::vector<int> cores() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set) && out.size() < 2) out.push_back(core);
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

PeerList peers_of(const Wanted& wanted, const std::string& folder, int ranks, bool crowded) {
  if (wanted.smoke || wanted.no_peers) return {};
  PeerList out = find_peers({.folder = folder,
                             .source = kSourceDir,
                             .ranks = ranks,
                             .crowded = crowded,
                             .open_mpi = wanted.open_mpi_options,
                             .only = wanted.peers});
  for (const Peer& peer : out.there) {
    std::printf("peer %s: %s\n", peer.name.c_str(), peer.settings.c_str());
  }
  for (const std::string& absent : out.absent) std::printf("absent: %s\n", absent.c_str());
  return out;
}

struct Total {
  std::vector<Row> rows;
  int kept = 0, thrown_away = 0;
  double empty = 0;
};

void measure_all(const Wanted& wanted, const Setup& setup, Total& total) {
  for (const Group& group : groups_of(wanted, setup.ranks)) {
    Setup here = setup;
    const auto available = runtime::available_memory();
    here.effort.stay =
        !available || memory_needed(setup, group) < 0.8 * static_cast<double>(*available);
    if (!here.effort.stay) {  // each batch is a start
      here.effort.starts = 1;
      here.effort.rounds = std::min(here.effort.rounds, 4);
    }
    const GroupResult result = measure_group(here, group);
    const std::string size = size_text(group.problem);
    if (result.rows.empty()) std::fprintf(stderr, "bench: nothing kept at %s\n", size.c_str());
    total.rows.insert(total.rows.end(), result.rows.begin(), result.rows.end());
    total.kept += result.kept;
    total.thrown_away += result.thrown_away;
    total.empty = std::max(total.empty, result.empty_microseconds);
    if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "%s done\n", size.c_str());
  }
}

int run(const Wanted& wanted, const std::string& folder) {
  Setup setup{.folder = folder,
              .cores = cores(),
              .ranks = 0,
              .peers = {},
              .fresh = !wanted.stale,
              .unscheduled = !wanted.smoke,
              .effort = effort_of(wanted)};
  for (const std::string& text : wanted.also) setup.others.push_back(other_of(text, folder));
  const Others others;
  Total total;
  for (const int ranks : ranks_of(wanted)) {
    setup.ranks = ranks;
    std::printf("ranks %d on cores", ranks);
    for (const int core : setup.cores) std::printf(" %d", core);
    std::printf("; buffers of ours registered, but in rows that say staged\n");
    const bool crowded = ranks > static_cast<int>(setup.cores.size());
    setup.peers = peers_of(wanted, folder, ranks, crowded).there;
    measure_all(wanted, setup, total);
  }
  sort_rows(total.rows);
  print_table(total.rows);
  std::printf(
      "%d batches, %d thrown away as the placement changed; an iteration that does nothing "
      "takes %.2f us; others used %.2f cores\n",
      total.kept, total.thrown_away, total.empty, others.cores());
  write_json(wanted.json, total.rows);
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
