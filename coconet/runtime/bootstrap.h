// How the processes of a job on one node find each other and exchange their segments.
//
// Rank 0 listens on an abstract Unix socket whose name is the job's; every other rank connects,
// sends what it believes of the job and its segment's descriptor. Rank 0 compares, and when all
// have come sends to each the descriptors of all segments, and of each process one that tells its
// death: a pidfd, or where the kernel has none the reading end of a pipe that the process holds
// open. Only processes of the same user are heard. Every step has the one deadline; what goes wrong
// is told to all ranks that have come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/runtime/communicator.h"
#include "coconet/runtime/segment.h"

namespace coconet::runtime {

struct JoinOptions {
  std::string job;  // unique on the node; at most 90 bytes
  int rank = 0;
  int ranks = 1;
  std::size_t data_bytes = 0;  // of each rank's segment, the same on all
  std::uint64_t plan_hash = 0;
  // What else all ranks must have alike, in one order, each as it is to be told: "N=4096".
  std::vector<std::string> setting = {};
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  // A rank that has failed, as who started the ranks knows also of one that has not come; -1: none.
  std::function<int()> failed_rank = {};
};

struct Joined {
  std::vector<Segment> segments;  // of all ranks
  Deaths deaths;
  FileDescriptor alive;  // to be kept open while this rank lives: its closing is its death
};

// What stops a rank that joins and is not its own failure.
class PeerFailure : public UserError {
 public:
  explicit PeerFailure(const std::string& message) : UserError(ErrorKind::runtime, message) {}
};

// Blocks until all ranks have come. PeerFailure that names the ranks that did not come in time, the
// one that failed, or the first that disagrees and both values; UserError(runtime) where the system
// refuses.
Joined join(const JoinOptions& options);

// A name that no other job on the node has.
std::string make_job_name();

}  // namespace coconet::runtime
