#include "coconet/execute/turns.h"

#include <algorithm>
#include <list>

#include "coconet/execute/job.h"
#include "coconet/execute/memory_need.h"
#include "coconet/runtime/memory.h"
#include "coconet/runtime/shared_bytes.h"

namespace coconet::execute {
namespace {

// Inputs of a rank, in bytes, up to which they are placed before each call.
constexpr std::size_t kMostPlacedAnew = std::size_t{32} << 20;

std::size_t bytes_of_rank(const Inputs& inputs) {
  std::size_t out = 0;
  for (const auto& [name, pieces] : inputs) out += pieces[0].size();
  return out;
}

std::size_t calls_of(std::span<const Turn> turns) {
  std::size_t out = 0;
  for (const Turn& turn : turns) out += static_cast<std::size_t>(turn.calls);
  return out;
}

class Turns {
 public:
  Turns(std::span<const Contender> contenders, std::span<const Turn> turns)
      : turns_(turns), ranks_(contenders[0].request->setting.mesh.ranks()) {
    for (const Contender& each : contenders) {
      const Job& job = jobs_.emplace_back(*each.compiled, *each.request, *each.inputs, true);
      by_contender_.push_back(&job);
      shared_bytes_ = std::max(shared_bytes_, runtime::symmetric_bytes(job.slots()));
      private_bytes_ = std::max(private_bytes_, runtime::private_bytes(job.slots()));
      caller_bytes_ = std::max(caller_bytes_, caller_bytes(job.bound()));
    }
    runtime::need_memory(
        (shared_bytes_ + private_bytes_ + caller_bytes_) * static_cast<std::uint64_t>(ranks_),
        "the ranks");
  }

  std::vector<std::vector<double>> run() {
    const runtime::SharedBytes memory(calls_of(turns_) * ranks_ * sizeof(double));
    times_ = memory.as<double>();
    runtime::LaunchOptions options = jobs_.front().launch_options();
    options.data_bytes = shared_bytes_;
    runtime::run_ranks(options, [this](runtime::Communicator& communicator) {
      const std::shared_ptr<void> own =
          runtime::map_private(std::max<std::size_t>(private_bytes_, 1));
      std::size_t first = 0;
      for (const Turn& turn : turns_) {
        take(turn, communicator, own, first);
        first += static_cast<std::size_t>(turn.calls);
      }
    });
    return slowest();
  }

 private:
  void take(const Turn& turn, runtime::Communicator& communicator,
            const std::shared_ptr<void>& memory, std::size_t first) const {
    const Job& job = *by_contender_[static_cast<std::size_t>(turn.contender)];
    const bool anew = bytes_of_rank(job.inputs()) <= kMostPlacedAnew;
    // The memory of the turn before is not touched by peers any more.
    communicator.barrier("the turn of a schedule");
    JobRank rank(job, communicator, memory);
    rank.bind_all();
    for (int call = 0; call < turn.calls; ++call) {
      if (anew || call == 0) rank.place_inputs();
      rank.check_inputs();
      communicator.barrier("inputs of a call");
      const auto begin = std::chrono::steady_clock::now();
      rank.call();
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      times_[(first + static_cast<std::size_t>(call)) * ranks_ + rank.rank()] = took.count();
    }
  }

  std::vector<std::vector<double>> slowest() const {
    std::vector<std::vector<double>> out;
    auto at = times_.begin();
    for (const Turn& turn : turns_) {
      std::vector<double>& calls = out.emplace_back();
      for (int call = 0; call < turn.calls; ++call, at += ranks_) {
        calls.push_back(*std::max_element(at, at + ranks_));
      }
    }
    return out;
  }

  std::span<const Turn> turns_;
  int ranks_;
  std::list<Job> jobs_;
  std::vector<const Job*> by_contender_;
  std::size_t shared_bytes_ = 0, private_bytes_ = 0;
  std::uint64_t caller_bytes_ = 0;
  std::span<double> times_;
};

}  // namespace

std::vector<std::vector<double>> run_in_turns(std::span<const Contender> contenders,
                                              std::span<const Turn> turns) {
  if (contenders.empty()) return {};
  return Turns(contenders, turns).run();
}

}  // namespace coconet::execute
