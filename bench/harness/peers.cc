#include "bench/harness/peers.h"

#include <unistd.h>

namespace coconet::bench {

namespace {

// Without it large temporary buffers of a library are mapped anew, page by page, in every call.
const std::string kKeepMemory =
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=8589934592"
    ":glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1";

bool in_path(const std::string& program) {
  return system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

Peer peer(const std::string& name, bool tuned, std::vector<std::string> command,
          std::vector<std::string> variables) {
  Peer out{name, tuned, {}};
  out.program.name = name;
  out.program.command = std::move(command);
  out.program.variables = std::move(variables);
  out.program.words["pages"] = tuned ? "huge" : "small";
  return out;
}

void add_open_mpi(PeerList& out, const std::string& worker) {
  const auto command = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words = {"mpirun.openmpi", "-np", "2", "--bind-to", "none"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(worker);
    return words;
  };
  const std::vector<std::string> root = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  std::vector<std::string> tuned = root;
  tuned.push_back(kKeepMemory);
  out.there.push_back(peer("openmpi", false, command({}), root));
  out.there.push_back(peer("openmpi-tuned", true, command({}), tuned));
  out.there.push_back(peer("openmpi-ucx", true,
                           command({"--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca",
                                    "pml_ucx_devices", "any"}),
                           tuned));
}

void add_mpich(PeerList& out, const std::string& worker) {
  const std::vector<std::string> command = {"mpirun.mpich", "-np", "2", "-bind-to", "none", worker};
  out.there.push_back(peer("mpich", false, command, {}));
  out.there.push_back(peer("mpich-tuned", true, command, {kKeepMemory}));
}

}  // namespace

PeerList find_peers(const std::string& folder) {
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
  find("openmpi", "openmpi-bin libopenmpi-dev", add_open_mpi);
  find("mpich", "mpich libmpich-dev", add_mpich);
  out.absent.push_back(system("python3 -c 'import torch' >/dev/null 2>&1") == 0
                           ? "torch + gloo: importable, but the bench has no ranks for it"
                           : "torch + gloo: python3 cannot import torch");
  return out;
}

}  // namespace coconet::bench
