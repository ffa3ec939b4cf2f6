#include "bench/harness/peers.h"

#include <unistd.h>

#include <filesystem>
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

// `settings`: options of the launcher, beyond those that every peer gets.
Peer peer(const std::string& name, bool tuned, const std::vector<std::string>& launcher,
          const std::string& settings, const std::string& worker) {
  Peer out;
  out.name = name;
  out.tuned = tuned;
  out.settings = tuned ? "malloc keeps memory, huge pages " + settings : "default settings";
  out.program.name = name;
  out.program.command = launcher;
  std::istringstream text(settings);
  for (std::string word; text >> word;) out.program.command.push_back(word);
  out.program.command.push_back(worker);
  if (tuned) out.program.variables.push_back(kKeepMemory);
  out.program.words["pages"] = tuned ? "huge" : "small";
  return out;
}

void add_open_mpi(PeerList& out, const std::string& worker, const std::vector<std::string>& more) {
  const auto add = [&](const std::string& name, bool tuned, const std::string& settings) {
    Peer made =
        peer(name, tuned, {"mpirun.openmpi", "-np", "2", "--bind-to", "none"}, settings, worker);
    made.program.variables.push_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    made.program.variables.push_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    out.there.push_back(std::move(made));
  };
  add("openmpi", false, "");
  add("openmpi-tuned", true, "");
  add("openmpi-ucx", true, "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any");
  add("openmpi-halving", true,
      "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 6");
  for (std::size_t i = 0; i < more.size(); ++i) {
    add("openmpi-given-" + std::to_string(i + 1), true, more[i]);
  }
}

void add_mpich(PeerList& out, const std::string& worker) {
  const std::vector<std::string> launcher = {"mpirun.mpich", "-np", "2", "-bind-to", "none"};
  out.there.push_back(peer("mpich", false, launcher, "", worker));
  out.there.push_back(peer("mpich-tuned", true, launcher, "", worker));
}

}  // namespace

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

PeerList find_peers(const std::string& folder, const std::vector<std::string>& open_mpi_options) {
  PeerList out;
  const auto find = [&](const std::string& name, const std::string& packages, auto add) {
    const std::string worker = folder + "/mpi_" + name;
    if (access(worker.c_str(), X_OK) == 0 && in_path("mpirun." + name)) {
      add(out, worker);
    } else {
      out.absent.push_back(name + ": not found when the bench was built (apt install " + packages +
                           ", then cmake again)");
    }
  };
  find("openmpi", "openmpi-bin libopenmpi-dev", [&](PeerList& list, const std::string& worker) {
    add_open_mpi(list, worker, open_mpi_options);
  });
  find("mpich", "mpich libmpich-dev", add_mpich);
  out.absent.push_back(system("python3 -c 'import torch' >/dev/null 2>&1") == 0
                           ? "torch + gloo: importable, but the bench has no ranks for it"
                           : "torch + gloo: python3 cannot import torch");
  return out;
}

}  // namespace coconet::bench
