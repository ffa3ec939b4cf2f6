// The cores of a job's threads.
#pragma once

#include <memory>
#include <vector>

#include "coconet/runtime/file_descriptor.h"

namespace coconet::runtime {

// The cores that this thread may run on.
std::vector<int> allowed_cores();

// How many threads of each rank have cores of their own, at least 1: of the allowed cores, or of as
// many as the control group may use at a time. 1 also where `ulimit -v` bounds this process, as
// each thread takes addresses for its stack and its heap.
int threads_with_cores(int ranks);

// The cores of one rank's threads. Neighbouring threads take neighbouring cores. A core is taken
// while this lives, by all processes of the machine, so that two jobs never share one while another
// idles; a thread for which none is free may run on all.
class RankCores {
 public:
  // Takes none.
  RankCores() = default;
  // Those of rank `rank`, of which there are as many as `cores` has room for.
  // Requires: ranks * threads <= cores.size().
  RankCores(std::vector<int> cores, int rank, int threads);

  // Binds the calling thread, thread `thread` of the rank. A refusal costs speed only.
  void bind(int thread) const;
  // Moves the calling thread, thread 0 of the rank, to its core if it runs on another one; where it
  // may run stays as it is.
  void come_home() const;
  // Of the rank's threads, that have a core of their own.
  int taken() const;

 private:
  struct Taken {
    int core;
    FileDescriptor claim;  // not open: none was free
  };
  std::vector<int> cores_;    // all that may be used
  std::vector<Taken> taken_;  // by thread
};

// The core that the rank of this process comes home to, one for all the jobs that it joins as that
// rank, taken as long as one of them lives; null where ranks outnumber the allowed cores.
std::shared_ptr<const RankCores> cores_of_joined(int rank, int ranks, int threads);

}  // namespace coconet::runtime
