// Measures our programs and other libraries side by side, in one run; docs/performance.md says how.
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "bench/harness/group.h"
#include "bench/harness/request.h"
#include "coconet/base/error.h"
#include "coconet/runtime/memory.h"
#include "coconet/runtime/segment.h"
#include "coconet_paths.h"

namespace coconet::bench {
namespace {

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

// By ranks. UserError(usage) if --peers names what is none of them.
std::map<int, PeerList> find_all_peers(const Request& request, const Setup& setup) {
  std::map<int, PeerList> out;
  if (request.smoke || request.no_peers) return out;
  std::vector<std::string> known;
  for (const int ranks : ranks_of(request)) {
    const bool crowded = ranks > static_cast<int>(setup.cores.size());
    PeerList& found = out[ranks] = find_peers({.folder = setup.folder,
                                               .source = kSourceDir,
                                               .ranks = ranks,
                                               .crowded = crowded,
                                               .open_mpi = request.open_mpi_options,
                                               .only = request.peers});
    known.insert(known.end(), found.known.begin(), found.known.end());
  }
  check_peers(request.peers, known);
  return out;
}

void print_peers(const PeerList& peers) {
  for (const Peer& peer : peers.there) {
    std::printf("peer %s: %s\n", peer.name.c_str(), peer.settings.c_str());
  }
  for (const std::string& absent : peers.absent) std::printf("absent: %s\n", absent.c_str());
}

struct Total {
  std::vector<Row> rows;
  int kept = 0, thrown_away = 0;
  double empty = 0;
};

void measure_all(const Request& request, const Setup& setup, Total& total) {
  for (const Group& group : groups_of(request, setup.ranks)) {
    Setup here = setup;
    const auto available = runtime::available_memory();
    here.effort.stay =
        !available || memory_needed(setup, group) < 0.8 * static_cast<double>(*available);
    if (!here.effort.stay) {  // each batch is a start
      here.effort.starts = 1;
      here.effort.rounds = std::max(std::min(here.effort.rounds, 4), here.effort.fewest_batches);
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

void check_all_memory(const Request& request) {
  const auto available = runtime::available_memory();
  for (const int ranks : ranks_of(request)) {
    for (const Group& group : groups_of(request, ranks)) {
      if (available) check_memory(group, ranks, *available);
    }
  }
}

int run(const Request& request, const std::string& folder) {
  Setup setup{.folder = folder,
              .cores = cores(),
              .ranks = 0,
              .peers = {},
              .fresh = !request.stale,
              .unscheduled = !request.smoke,
              .effort = effort_of(request)};
  for (const std::string& text : request.also) setup.others.push_back(other_of(text, folder));
  check_all_memory(request);
  std::map<int, PeerList> peers = find_all_peers(request, setup);
  const Others others;
  Total total;
  for (const int ranks : ranks_of(request)) {
    setup.ranks = ranks;
    std::printf("ranks %d on cores", ranks);
    for (const int core : setup.cores) std::printf(" %d", core);
    std::printf("; buffers of ours registered, but in rows that say staged, on %s pages\n",
                runtime::has_shared_huge_pages() ? "huge" : "small");
    print_peers(peers[ranks]);
    setup.peers = peers[ranks].there;
    measure_all(request, setup, total);
  }
  sort_rows(total.rows);
  print_table(total.rows);
  std::printf(
      "%d batches, %d thrown away as the placement changed; an iteration that does nothing "
      "takes %.2f us; others used %.2f cores\n",
      total.kept, total.thrown_away, total.empty, others.cores());
  write_json(request.json, total.rows);
  return 0;
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  signal(SIGPIPE, SIG_IGN);
  try {
    const Request request = read_request(argc, argv);
    const std::string self = std::filesystem::canonical("/proc/self/exe").parent_path().string();
    return run(request, self);
  } catch (const coconet::UserError& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return coconet::exit_code_of(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}
