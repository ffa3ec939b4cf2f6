// A rank of a job whose processes somebody else has started: mpirun, torchrun, a server of one's
// own.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "coconet/execute/run.h"
#include "coconet/execute/symmetric_places.h"

namespace coconet::execute {

struct JoinRequest {
  std::string job;  // the same on its ranks, no other job's on the machine; at most 90 bytes
  int rank = 0;
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  // until all ranks have come
  // Of what is not staged: each rank's piece begins there, the same on all ranks, and has its value
  // from then on. UserError(usage) for what does not fit.
  SymmetricPlaces symmetric = {};
};

// Makes this process the rank, when all ranks of the request's mesh have come, each a process of
// this machine and this user with the same plan, sizes, seed and knobs. Its calls are made by the
// thread that called this, as the function of run_on_ranks makes them; inputs of the request are in
// place. No thread of it is bound to a core, but where each rank has one a call begins there: two
// ranks on one core take turns, while another idles. When what comes back goes, the rank has left:
// the others may finish their call and are refused the next. It lives as long as `compiled` at
// most. UserError(runtime) that names the ranks that did not come, died or disagree; after an error
// in a call the job is over for all.
std::unique_ptr<RankCalls> join(const Compiled& compiled, const RunRequest& request,
                                const JoinRequest& where);

}  // namespace coconet::execute
