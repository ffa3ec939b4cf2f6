#include "coconet/execute/join.h"

#include <sys/mman.h>

#include "coconet/execute/job.h"
#include "coconet/runtime/backoff.h"
#include "coconet/runtime/bootstrap.h"
#include "coconet/runtime/content_hash.h"
#include "coconet/runtime/cores.h"
#include "coconet/runtime/rank_error.h"
#include "coconet/type/members_text.h"

namespace coconet::execute {
namespace {

// What all ranks must have alike, or a call would be another on each.
std::vector<std::string> setting_lines(const Graph& graph, const RunRequest& request,
                                       const SymmetricPlaces& symmetric) {
  const interp::Setting& setting = request.setting;
  std::vector<std::string> out;
  for (int axis = 0; axis < graph.mesh().size(); ++axis) {
    out.push_back(graph.mesh().axes[axis] + "=" + std::to_string(setting.mesh.sizes[axis]));
  }
  for (const std::string& dim : graph.header().dims) {
    const auto list = setting.sizes.lists.find(dim);
    const auto size = setting.sizes.find(dim);
    if (list != setting.sizes.lists.end()) {
      runtime::ContentHash all;
      for (const std::int64_t member : list->second) all.add(std::to_string(member));
      out.push_back(dim + "=" + members_text(list->second));
      out.push_back("sizes of " + dim + " whose hash is " + all.hex());  // of many not all are told
    }
    if (size != setting.sizes.end()) out.push_back(dim + "=" + std::to_string(size->second));
  }
  out.push_back("seed " + std::to_string(setting.seed));
  Knobs knobs = request.knobs;
  knobs.threads = 0;  // each rank's own affair
  out.push_back("knobs " + (knobs == Knobs{} ? "chosen by size" : text_of(knobs)));
  for (const auto& [name, place] : symmetric) {
    out.push_back(name + " at byte " + std::to_string(place.offset) + " of the symmetric memory " +
                  place.memory->name());
  }
  return out;
}

// True in this process; false in a child of it, which has its memory and would go on as this rank.
class OwnProcess {
 public:
  OwnProcess() {
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) runtime::throw_system_error("cannot map a page");
    own_ = std::shared_ptr<bool>(static_cast<bool*>(memory), [](bool* p) { munmap(p, kBytes); });
    *own_ = true;
    madvise(memory, kBytes, MADV_WIPEONFORK);
  }
  operator bool() const { return *own_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  std::shared_ptr<bool> own_;
};

// What the rank is made of.
class Membership {
 public:
  Membership(const Compiled& compiled, const RunRequest& request, const JoinRequest& where)
      : request_(request),
        job_(compiled, request_, request_.inputs, false, where.symmetric),
        joined_(joined(where)),
        communicator_(where.rank, std::move(joined_.segments), std::move(joined_.deaths),
                      job_.launch_options().communicator) {
    runtime::sharpen_naps();
    const runtime::LaunchOptions options = job_.launch_options();
    cores_ = runtime::cores_of_joined(where.rank, options.ranks, options.communicator.threads);
    telling([&] { communicator_.start_threads([](int) {}); });
  }

  // What fails here is told to the other ranks.
  template <class Action>
  void telling(const Action& action) {
    if (!own_process_) {
      throw UserError(ErrorKind::usage,
                      "found a call by a fork of the process that joined; needed is that process");
    }
    if (failed_) {
      throw UserError(ErrorKind::runtime,
                      "what this rank did before has failed: the job is over for all of its ranks");
    }
    try {
      action();
    } catch (...) {
      failed_ = true;
      communicator_.publish_failure(runtime::rank_error_of(std::current_exception()));
      throw;
    }
  }

  void leave() {
    if (!failed_ && own_process_) communicator_.publish_left();
  }

  void come_home() const {
    if (cores_) cores_->come_home();
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
    constexpr std::size_t kMostName = 90;
    if (where.job.empty() || where.job.size() > kMostName) {
      throw UserError(ErrorKind::usage, "found a job's name of " +
                                            std::to_string(where.job.size()) +
                                            " bytes; needed are 1 to 90");
    }
    for (const auto& [name, place] : where.symmetric) {
      if (place.memory->rank() == where.rank) continue;
      throw UserError(ErrorKind::usage, name + ": found symmetric memory of rank " +
                                            std::to_string(place.memory->rank()) +
                                            "; needed is that of rank " +
                                            std::to_string(where.rank));
    }
    job_.need_memory(0);
    return runtime::join({.job = where.job,
                          .rank = where.rank,
                          .ranks = options.ranks,
                          .data_bytes = options.data_bytes,
                          .plan_hash = options.plan_hash,
                          .setting = setting_lines(job_.plan().graph, request_, where.symmetric),
                          .timeout = where.timeout});
  }

  RunRequest request_;
  Job job_;
  runtime::Joined joined_;  // of it, `alive` is held open
  runtime::Communicator communicator_;
  std::shared_ptr<const runtime::RankCores> cores_;
  bool failed_ = false;
  OwnProcess own_process_;
};

class JoinedRank final : private Membership, public JobRank {
 public:
  JoinedRank(const Compiled& compiled, const RunRequest& request, const JoinRequest& where)
      : Membership(compiled, request, where), JobRank(job(), communicator()) {
    place_inputs();
  }
  ~JoinedRank() override { leave(); }

  void call() override {
    telling([this] {
      come_home();
      JobRank::call();
    });
  }
};

}  // namespace

std::unique_ptr<RankCalls> join(const Compiled& compiled, const RunRequest& request,
                                const JoinRequest& where) {
  return std::make_unique<JoinedRank>(compiled, request, where);
}

}  // namespace coconet::execute
