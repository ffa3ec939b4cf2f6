// One rank's view of its job: the segments of all ranks, its calls and barriers, and waiting for
// peers.
//
// Progress. Each rank's counter grows by one when the rank enters a call or a barrier, and by one
// with each tick of the call. All ranks make the same calls and barriers in the same order, so
// equal counts mean equal places.
//
// Failure. A rank that fails publishes its error in its segment; a rank that waits sees that, or a
// peer's death, within 1 s and stops with an error that names the rank. Any failure is fatal to the
// job: the communicators of all ranks are unusable from then on, and every use throws.
//
// Thread-safety: a communicator belongs to the one thread that runs its rank. Of a Call's functions
// the rank's other threads may call those that say so.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "coconet/kernel/call.h"
#include "coconet/runtime/backoff.h"
#include "coconet/runtime/place.h"
#include "coconet/runtime/segment.h"
#include "coconet/runtime/stream_choice.h"
#include "coconet/runtime/workers.h"

namespace coconet::runtime {

struct CommunicatorOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(30);  // of one wait for a living peer
  std::chrono::milliseconds warn_after = std::chrono::seconds(30);
  int cores = 0;    // that all ranks may run on; 0: this thread's
  int threads = 1;  // of a rank, the same for all (runtime/workers.h)
  std::int64_t thread_grain = kernel::kThreadGrain;  // as Call::grain, at least 1
  std::function<void(const std::string&)> warn;      // default: a line on stderr
  std::optional<kernel::Stream> stream;              // of all calls; not given: what is quickest
  Place* place = nullptr;                            // to be kept up to date, if given
  // The rank that the launcher knows to have failed by itself, of several that died; -1: none.
  std::function<int()> failed_rank;
};

// Of each peer process a descriptor that becomes readable when it dies; empty for threads.
using Deaths = std::vector<FileDescriptor>;

class Communicator {
 public:
  Communicator(int rank, std::vector<Segment> segments, Deaths deaths, CommunicatorOptions options);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(segments_.size()); }
  const Segment& segment(int rank) const { return segments_[static_cast<std::size_t>(rank)]; }

  // The text of a launch in reports, such as "ar = reduce_scatter(...) at attention.coco:9".
  void describe_launches(std::function<std::string(int launch)> text) { launch_text_ = text; }

  // Starts the rank's threads but the calling one; each first calls `begin` with its number, from 1
  // on. To be called once, before the first call, in the process that is to have them.
  // UserError(runtime) if one cannot be started.
  void start_threads(const std::function<void(int thread)>& begin);

  // Waits until all ranks have come to this barrier. `name` stands in reports, the same on all.
  void barrier(const std::string& name);

  // Enters the next call and waits until all ranks have. UserError naming both ranks' values if the
  // plan hashes or the hashes of the replicated inputs differ (0: not checked).
  // Returns a Call with rank, ranks, call number, progress, base and functions set; the rest
  // (sizes, seed, addresses) is the caller's to fill in. Valid until leave_call. What the module
  // reports through Call::fail becomes a UserError(data).
  // `exchange`: what is given goes with the entry, and what peers have given has come; all ranks
  // exchange, or none does.
  kernel::Call enter_call(std::uint64_t plan_hash, std::uint64_t inputs_hash = 0,
                          Exchange* exchange = nullptr);
  // The next call is entered with that number, the one after it with the next: between calls, and
  // alike on all ranks.
  void count_calls_from(std::uint64_t number) { calls_ = number; }
  // After the module's run: `ticks` ticks are performed.
  void leave_call(std::int64_t ticks);

  // Throws the error for which a function of the Call gave kFailed; returns if there is none.
  void raise_failure() const;
  // The rank that made this one stop, if it did not fail by itself.
  std::optional<int> stopped_by() const { return stopped_by_; }

  // How the rank ended; its segment tells the others. To be called once, last.
  void publish_left();
  void publish_failure(const RankError& error);  // as stopped, if stopped_by()

 private:
  // What a Call's functions give while they run `body`, keeping its error. Thread-safe.
  kernel::Status status_of(const std::function<void()>& body);
  static kernel::Status wait_slow(void* self, int peer, std::uint64_t target, int tick, int launch);
  static kernel::Status matmul(void* self, const kernel::MatmulCall& call);
  static kernel::Status conv2d(void* self, const kernel::Conv2dCall& call);
  static kernel::Status fail_call(void* self, int launch, const char* message);
  static kernel::Status divide(void* self, int parts, Workers::Work work, const void* context);

  SegmentHeader& own() const { return segment(rank_).header(); }
  std::uint64_t progress_of(int rank) const;
  std::string tick_text(int tick, int launch) const;
  std::string place_of(int peer) const;
  // The rank that `peer` waits for, directly or through others; "" if for none.
  std::string awaited_by(int peer) const;
  // `name`, as `describe` below, is called only for reports.
  void enter(EntryRecord record, kernel::Stream stream, const std::function<std::string()>& name,
             Exchange* exchange = nullptr);
  void receive(int peer, int slot, const std::function<std::string()>& name, Exchange& exchange);
  kernel::Stream choose_stream(std::uint64_t plan_hash);
  void compare_entries(int peer, int slot, const std::function<std::string()>& name);
  void wait_for(int peer, std::uint64_t target, const std::function<std::string()>& describe);
  std::string stop_text(int because_of, const std::string& did, int peer,
                        const std::string& what) const;
  void check_peers(int peer, std::uint64_t target, const std::string& what);
  void check_deaths(int peer, std::uint64_t target, const std::string& what);
  [[noreturn]] void fail(const std::string& message);
  [[noreturn]] void stop(int because_of, const std::string& message);

  int rank_;
  std::vector<Segment> segments_;
  Deaths deaths_;
  CommunicatorOptions options_;
  int load_;  // threads of the job a core, rounded up
  Clock::duration check_every_;
  std::vector<kernel::Counter*> progress_;
  std::map<std::uint64_t, StreamChoice> streams_;  // by plan; of rank 0
  StreamChoice* timed_ = nullptr;                  // of the present call, since `began_`
  Clock::time_point began_{};
  std::function<std::string(int)> launch_text_;
  std::uint64_t base_ = 0;  // the progress that meant "has entered" the present call or barrier
  std::uint64_t entries_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t barriers_ = 0;
  bool in_call_ = false;
  std::mutex failing_;  // held to set failure_ while the rank's threads work
  std::optional<RankError> failure_;
  std::optional<int> stopped_by_;
  std::unique_ptr<Workers> workers_;  // last: they use the rest
};

}  // namespace coconet::runtime
