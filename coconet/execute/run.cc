#include "coconet/execute/run.h"

#include <cstring>

#include "coconet/execute/job.h"
#include "coconet/execute/memory_need.h"
#include "coconet/runtime/cores.h"

namespace coconet::execute {
namespace {

void make_calls(const Job& job, JobRank& rank, runtime::Communicator& communicator,
                const SharedResults& results) {
  rank.bind_all();
  for (int call = 0; call < job.request().repeat; ++call) {
    rank.place_inputs();
    rank.check_inputs();  // not timed
    communicator.barrier("inputs of call " + std::to_string(call));
    const auto begin = std::chrono::steady_clock::now();
    rank.call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    results.time(call, rank.rank()) = took.count();
    if (call > 0) continue;
    for (std::size_t r = 0; r < job.returned().size(); ++r) {
      const std::span<const std::byte> value = rank.place(job.returned()[r].buffer);
      if (value.empty()) continue;
      std::memcpy(results.value(r, rank.rank()).data(), value.data(), value.size());
    }
  }
}

}  // namespace

static_assert(Knobs::kMostThreads == runtime::kMostThreads);

void need_threads(int threads) {
  if (threads >= 0 && threads <= runtime::kMostThreads) return;
  throw UserError(ErrorKind::usage,
                  "a rank has from 1 to " + std::to_string(runtime::kMostThreads) +
                      " threads, or 0, as many as have a core; found " + std::to_string(threads));
}

int threads_of(const RunRequest& request) {
  need_threads(request.threads);
  return request.threads > 0 ? request.threads
                             : runtime::threads_with_cores(request.setting.mesh.ranks());
}

RunResult run(const Compiled& compiled, const RunRequest& request) {
  return run(compiled, request, request.inputs);
}

RunResult run(const Compiled& compiled, const RunRequest& request, const Inputs& inputs) {
  if (request.repeat < 1) {
    throw UserError(ErrorKind::usage, "a run has at least 1 call; found a repeat of " +
                                          std::to_string(request.repeat));
  }
  const Job job(compiled, request, inputs, true);
  job.need_memory(SharedResults::bytes(job.bound(), job.returned(), request.repeat) +
                  caller_bytes(job.bound()) * job.ranks());
  const SharedResults results(job.bound(), job.returned(), request.repeat);
  runtime::run_ranks(job.launch_options(), [&](runtime::Communicator& communicator) {
    JobRank rank(job, communicator);
    make_calls(job, rank, communicator, results);
  });
  return results.collect();
}

void run_on_ranks(const Compiled& compiled, const RunRequest& request,
                  const std::function<void(RankCalls&)>& function) {
  const Job job(compiled, request, request.inputs, false);
  job.need_memory(0);
  runtime::run_ranks(job.launch_options(), [&](runtime::Communicator& communicator) {
    JobRank rank(job, communicator);
    rank.place_inputs();
    runtime::call_foreign("the function of rank " + std::to_string(rank.rank()),
                          [&] { function(rank); });
  });
}

}  // namespace coconet::execute
