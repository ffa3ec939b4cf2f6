#include "coconet/runtime/workers.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "coconet/base/error.h"
#include "coconet/runtime/backoff.h"

namespace coconet::runtime {

namespace {

// Looks at a counter, some 10 ns each, before the clock is read too.
constexpr int kLooks = 200;
// How long a worker without work is awake. Waking one up takes as long as 20 us of work.
constexpr auto kAwake = std::chrono::milliseconds(1);

// Whether the counter comes to `target` in the short time that a look at the clock is not worth.
bool comes_soon(const kernel::Counter& counter, std::uint64_t target, int load) {
  for (int look = 0; look < (load == 1 ? kLooks : 1); ++look) {
    if (counter.load() >= target) return true;
    relax();
  }
  return false;
}

}  // namespace

// One thread. Two counters, each written by one side, count the parts that it was given and that it
// has done; what stands beside one is that side's to write until the counter says so.
class Workers::Worker {
 public:
  Worker(int thread, int load, const std::function<void(int)>& begin)
      : number_(thread), load_(load), begin_(begin), thread_([this] { run(); }) {}

  ~Worker() {
    give(nullptr, nullptr);
    thread_.join();
  }

  // Requires: what was given before has been waited for. Null: the thread ends.
  void give(Work work, const void* context) {
    work_ = work;
    context_ = context;
    given_.store(++parts_);
    // Adding nothing orders the store before the look: a worker that has not been seen to sleep
    // looks at `given_` after this.
    if (asleep_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    { const std::lock_guard lock(mutex_); }
    wakes_.notify_one();
  }

  kernel::Status wait() {
    if (!comes_soon(done_, parts_, load_)) {
      Backoff backoff(load_);
      while (done_.load() < parts_) backoff.pause();
    }
    return status_;
  }

  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }

 private:
  void run() {
    sharpen_naps();
    begin_(number_);
    for (std::uint64_t part = 1;; ++part) {
      wait_for(part);
      if (work_ == nullptr) return;
      try {
        status_ = work_(context_, number_);
      } catch (...) {
        error_ = std::current_exception();
        status_ = kernel::kFailed;
      }
      done_.store(part);
    }
  }

  void wait_for(std::uint64_t part) {
    if (comes_soon(given_, part, load_)) return;
    Backoff backoff(load_);
    while (backoff.waited() < kAwake) {
      backoff.pause();
      if (comes_soon(given_, part, load_)) return;
    }
    std::unique_lock lock(mutex_);
    asleep_.fetch_add(1, std::memory_order_acq_rel);
    wakes_.wait(lock, [&] { return given_.load() >= part; });
    asleep_.fetch_sub(1, std::memory_order_acq_rel);
  }

  // By the rank's thread.
  alignas(64) kernel::Counter given_{};
  Work work_ = nullptr;
  const void* context_ = nullptr;
  std::uint64_t parts_ = 0;  // as given_
  // By this worker's.
  alignas(64) kernel::Counter done_{};
  kernel::Status status_ = kernel::kOk;
  std::exception_ptr error_;
  alignas(64) std::atomic<int> asleep_{0};
  const int number_, load_;
  const std::function<void(int)> begin_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::thread thread_;  // last: it uses the rest
};

Workers::Workers(int threads, int load, const std::function<void(int)>& begin) {
  for (int thread = 1; thread < threads; ++thread) {
    try {
      workers_.push_back(std::make_unique<Worker>(thread, load, begin));
    } catch (const std::system_error& error) {
      throw UserError(ErrorKind::runtime, "cannot start thread " + std::to_string(thread) + " of " +
                                              std::to_string(threads) + " of a rank: " +
                                              error.what() + "; fewer threads need less");
    }
  }
}

Workers::~Workers() = default;

kernel::Status Workers::divide(int parts, Work work, const void* context) {
  check(parts >= 1 && parts <= static_cast<int>(workers_.size()) + 1, "a part has a thread");
  for (int part = 1; part < parts; ++part) workers_[part - 1]->give(work, context);
  kernel::Status status = kernel::kOk;
  std::exception_ptr error;
  try {
    status = work(context, 0);
  } catch (...) {
    error = std::current_exception();
  }
  for (int part = 1; part < parts; ++part) {
    const kernel::Status other = workers_[part - 1]->wait();
    if (status == kernel::kOk) status = other;
    if (std::exception_ptr theirs = workers_[part - 1]->take_error(); theirs && !error) {
      error = theirs;
    }
  }
  if (error) std::rethrow_exception(error);
  return status;
}

}  // namespace coconet::runtime
