// The libraries that we are measured against, and their settings.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/participant.h"

namespace coconet::bench {

struct Peer {
  std::string name;
  bool tuned = false;    // not the library's default settings
  std::string settings;  // in words, for people
  Program program;
};

// Another build of ours, or the same with other kernel headers: what a change is compared with, in
// one run.
struct Other {
  std::string name;
  std::string program;                      // its coconet_worker
  std::vector<std::string> variables = {};  // of its environment
};

// From "NAME=PATH"; PATH is the folder <build>/bench of another build, or one that holds
// coconet/kernel. UserError(usage) that says so if it is neither. `folder` as below.
Other other_of(const std::string& text, const std::string& folder);

struct PeerList {
  std::vector<Peer> there;
  std::vector<std::string> absent;  // "NAME: why"
};

// `folder` holds the programs that the build made for them. Each of `open_mpi_options`, words for
// mpirun, makes one more tuned peer.
PeerList find_peers(const std::string& folder, const std::vector<std::string>& open_mpi_options);

}  // namespace coconet::bench
