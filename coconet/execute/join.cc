#include "coconet/execute/join.h"

#include "coconet/execute/job.h"
#include "coconet/runtime/backoff.h"
#include "coconet/runtime/bootstrap.h"
#include "coconet/runtime/rank_error.h"

namespace coconet::execute {
namespace {

// What the rank is made of.
class Membership {
 public:
  Membership(const Compiled& compiled, const RunRequest& request, const JoinRequest& where)
      : request_(request),
        job_(compiled, request_, request_.inputs, false),
        joined_(joined(where)),
        communicator_(where.rank, std::move(joined_.segments), std::move(joined_.deaths),
                      job_.launch_options().communicator) {
    runtime::sharpen_naps();
    telling([&] { communicator_.start_threads([](int) {}); });
  }

  // What fails here is told to the other ranks.
  template <class Action>
  void telling(const Action& action) {
    try {
      action();
    } catch (...) {
      failed_ = true;
      communicator_.publish_failure(runtime::rank_error_of(std::current_exception()));
      throw;
    }
  }

  void leave() {
    if (!failed_) communicator_.publish_left();
  }

  const Job& job() const { return job_; }
  runtime::Communicator& communicator() { return communicator_; }

 private:
  runtime::Joined joined(const JoinRequest& where) const {
    const runtime::LaunchOptions options = job_.launch_options();
    if (where.rank < 0 || where.rank >= options.ranks) {
      throw UserError(ErrorKind::usage, "found rank " + std::to_string(where.rank) +
                                            "; the mesh has ranks 0 to " +
                                            std::to_string(options.ranks - 1));
    }
    job_.need_memory(0);
    return runtime::join({.job = where.job,
                          .rank = where.rank,
                          .ranks = options.ranks,
                          .data_bytes = options.data_bytes,
                          .plan_hash = options.plan_hash,
                          .timeout = where.timeout});
  }

  RunRequest request_;
  Job job_;
  runtime::Joined joined_;  // of it, `alive` is held open
  runtime::Communicator communicator_;
  bool failed_ = false;
};

class JoinedRank final : private Membership, public JobRank {
 public:
  JoinedRank(const Compiled& compiled, const RunRequest& request, const JoinRequest& where)
      : Membership(compiled, request, where), JobRank(job(), communicator()) {
    place_inputs();
  }
  ~JoinedRank() override { leave(); }

  void call() override {
    telling([this] { JobRank::call(); });
  }
};

}  // namespace

std::unique_ptr<RankCalls> join(const Compiled& compiled, const RunRequest& request,
                                const JoinRequest& where) {
  return std::make_unique<JoinedRank>(compiled, request, where);
}

}  // namespace coconet::execute
