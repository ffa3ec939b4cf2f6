// The libraries that we are measured against, and their settings.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/participant.h"

namespace coconet::bench {

struct Peer {
  std::string name;
  bool tuned = false;      // not the library's default settings
  std::string settings;    // in words, for people
  bool framework = false;  // has all_reduce and Adam's step of f32 alone, the latter its own
  Program program = {};

  bool has(const std::string& workload, const std::string& dtype) const;
  bool has_form(const std::string& form) const;
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
  std::vector<std::string> known;   // all names, whether wanted, there, or not
};

struct PeerOptions {
  std::string folder;  // <build>/bench, of the programs that the build made; <build>/peers beside
                       // it has the environments that bench/peers.sh makes
  std::string source;  // the root of the sources
  int ranks = 2;
  bool crowded = false;                    // more ranks than cores
  std::vector<std::string> open_mpi = {};  // each, words for mpirun, makes one more tuned peer
  std::vector<std::string> only = {};      // peers whose name begins so; none: all
};

PeerList find_peers(const PeerOptions& options);

// UserError(usage), with the names that are known, unless each of `only` begins one of them.
void check_peers(const std::vector<std::string>& only, const std::vector<std::string>& known);

}  // namespace coconet::bench
