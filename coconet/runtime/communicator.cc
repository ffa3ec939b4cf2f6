#include "coconet/runtime/communicator.h"

#include <poll.h>
#include <sched.h>

#include <cstdio>

#include "coconet/kernel/dropout.h"
#include "coconet/runtime/conv2d.h"
#include "coconet/runtime/matmul.h"

namespace coconet::runtime {

namespace {

// How often a rank that waits looks whether all others live. As it looks at each of them, the time
// grows with their number: else many ranks would do nothing but look. Far below the 1 s within
// which a death is seen.
constexpr auto kCheckEvery = std::chrono::microseconds(3000);
constexpr auto kCheckEveryRank = std::chrono::microseconds(500);

// Pauses of a rank with a core of its own before it looks at the clock too: about 1 us.
constexpr int kPauses = 64;

std::uint64_t digest_of(const EntryRecord& entry) {
  std::uint64_t out = 0;
  for (std::uint64_t field :
       {entry.operation, entry.number, entry.base, entry.plan_hash, entry.inputs_hash}) {
    out = kernel::mix(out ^ field);
  }
  return out;
}

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

int cores_of_this_thread() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string entry_text(const EntryRecord& entry) {
  if (entry.operation == 1) return "barrier " + std::to_string(entry.number);
  return "call " + std::to_string(entry.number) + " of plan " + hex(entry.plan_hash);
}

}  // namespace

Communicator::Communicator(int rank, std::vector<Segment> segments, Deaths deaths,
                           CommunicatorOptions options)
    : rank_(rank),
      segments_(std::move(segments)),
      deaths_(std::move(deaths)),
      options_(std::move(options)),
      load_((ranks() * options_.threads - 1) /
                (options_.cores > 0 ? options_.cores : cores_of_this_thread()) +
            1),
      check_every_(std::max(kCheckEvery, ranks() * kCheckEveryRank)) {
  check(rank >= 0 && rank < ranks(), "a communicator's rank is one of its segments'");
  check(options_.threads >= 1 && options_.threads <= kMostThreads && options_.thread_grain >= 1,
        "a rank has a thread");
  check(deaths_.empty() || deaths_.size() == segments_.size(), "one death descriptor a rank");
  for (const Segment& segment : segments_) progress_.push_back(&segment.header().progress);
  if (!options_.warn) {
    options_.warn = [](const std::string& text) {
      std::fprintf(stderr, "coconet: warning: %s\n", text.c_str());
    };
  }
  launch_text_ = [](int launch) { return "launch " + std::to_string(launch); };
}

void Communicator::start_threads(const std::function<void(int thread)>& begin) {
  check(!workers_ && calls_ == 0, "a rank's threads are started once, before its calls");
  if (options_.threads > 1) workers_ = std::make_unique<Workers>(options_.threads, load_, begin);
}

std::uint64_t Communicator::progress_of(int rank) const {
  return progress_[static_cast<std::size_t>(rank)]->load();
}

// --- Barriers and calls ---

void Communicator::barrier(const std::string& name) {
  check(!in_call_, "no barrier inside a call");
  if (options_.place) options_.place->enter_barrier(name);
  enter({.operation = 1, .number = barriers_++, .base = 0, .plan_hash = 0, .inputs_hash = 0},
        kernel::Stream::none, [&] { return "barrier \"" + name + "\""; });
  if (options_.place) options_.place->leave_barrier();
}

kernel::Call Communicator::enter_call(std::uint64_t plan_hash, std::uint64_t inputs_hash,
                                      Exchange* exchange) {
  if (in_call_) {
    raise_failure();
    throw UserError(ErrorKind::runtime, "a call before this one has failed");
  }
  const std::uint64_t number = calls_++;
  if (options_.place) options_.place->enter_call(number);
  enter(
      {.operation = 0,
       .number = number,
       .base = 0,
       .plan_hash = plan_hash,
       .inputs_hash = inputs_hash},
      rank_ == 0 && !exchange ? choose_stream(plan_hash) : kernel::Stream::none,
      [&] { return "call " + std::to_string(number); }, exchange);
  in_call_ = true;
  static std::atomic<std::uint64_t> latest_id{0};  // of all communicators of the process
  kernel::Call call;
  call.rank = rank_;
  call.ranks = ranks();
  call.call_number = number;
  call.id = ++latest_id;
  call.progress = progress_.data();
  call.base = base_;
  if (!exchange) {
    call.stream = static_cast<kernel::Stream>(segment(0).header().mark[(entries_ - 1) % 2].stream);
  }
  call.wait_slow = &Communicator::wait_slow;
  call.matmul = &Communicator::matmul;
  call.conv2d = &Communicator::conv2d;
  call.fail = &Communicator::fail_call;
  if (workers_) {
    call.threads = options_.threads;
    call.grain = options_.thread_grain;
    call.divide = &Communicator::divide;
  }
  call.runtime = this;
  if (timed_) began_ = Clock::now();
  return call;
}

// For all ranks. Where they outnumber cores a call's time says nothing.
kernel::Stream Communicator::choose_stream(std::uint64_t plan_hash) {
  timed_ = nullptr;
  if (options_.stream || load_ > 1) return options_.stream.value_or(kernel::Stream::none);
  StreamChoice& choice = streams_[plan_hash];
  const StreamChoice::Call call = choice.begin();
  if (call.timed) timed_ = &choice;
  return call.stream;
}

void Communicator::leave_call(std::int64_t ticks) {
  raise_failure();
  check(in_call_ && ticks >= 0, "a call that is left was entered");
  if (timed_) timed_->end(Clock::now() - began_);
  in_call_ = false;
  const std::uint64_t done = base_ + static_cast<std::uint64_t>(ticks);
  check(progress_of(rank_) <= done, "a module signals no tick beyond those it reports");
  own().progress.store(done);
  if (options_.place) options_.place->leave_call(calls_ - 1);
}

void Communicator::enter(EntryRecord record, kernel::Stream stream,
                         const std::function<std::string()>& name, Exchange* exchange) {
  raise_failure();
  const int slot = static_cast<int>(entries_++ % 2);
  base_ = progress_of(rank_) + 1;
  record.base = base_;
  own().entry[slot] = record;
  const std::uint64_t digest = digest_of(record);
  own().mark[slot] = {digest, static_cast<std::uint64_t>(stream)};
  if (exchange) {
    const std::span<const std::uint64_t> words = exchange->outgoing(digest);
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank_) segment(peer).message(slot, rank_).send(base_, words);
    }
  }
  own().progress.store(base_);
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank_) continue;
    if (exchange) {
      receive(peer, slot, name, *exchange);
      continue;
    }
    wait_for(peer, base_, [&] { return "to enter " + name(); });
    compare_entries(peer, slot, name);
  }
}

void Communicator::receive(int peer, int slot, const std::function<std::string()>& name,
                           Exchange& exchange) {
  const PackedMessage& message = segment(rank_).message(slot, peer);
  const std::span<std::uint64_t> words = exchange.incoming(peer);
  const auto has_come = [&] { return message.has_come(base_, words.size()); };
  for (int pause = 0; pause < (load_ == 1 ? kPauses : 1) && !has_come(); ++pause) relax();
  // Sent before the progress that says so; by a rank that makes another call, not at all.
  if (!has_come()) wait_for(peer, base_, [&] { return "to enter " + name(); });
  if (!has_come()) compare_entries(peer, slot, name);
  check(has_come(), "all ranks exchange, or none does");
  message.receive(words);
  if (words[0] != own().mark[slot].digest) compare_entries(peer, slot, name);
}

void Communicator::compare_entries(int peer, int slot, const std::function<std::string()>& name) {
  if (segment(peer).header().mark[slot].digest == own().mark[slot].digest) return;
  const EntryRecord mine = own().entry[slot];
  const EntryRecord theirs = segment(peer).header().entry[slot];
  if (theirs.operation != mine.operation || theirs.number != mine.number ||
      theirs.plan_hash != mine.plan_hash) {
    fail(rank_text(rank_) + " enters " + entry_text(mine) + ", but " + rank_text(peer) +
         " enters " + entry_text(theirs) +
         "; all ranks must make the same calls, with the same program, schedule and sizes, in the "
         "same order");
  }
  if (theirs.inputs_hash != mine.inputs_hash) {
    fail("at " + name() + " the replicated inputs differ: their hash is " + hex(mine.inputs_hash) +
         " on " + rank_text(rank_) + " and " + hex(theirs.inputs_hash) + " on " + rank_text(peer) +
         "; a replicated input must have the same value on every rank");
  }
  check(theirs.base == mine.base, "a plan has the same number of ticks on every rank");
}

// --- Waiting ---

kernel::Status Communicator::status_of(const std::function<void()>& body) {
  try {
    body();
    return kernel::kOk;
  } catch (...) {
    const std::lock_guard lock(failing_);
    if (!failure_) failure_ = rank_error_of(std::current_exception());
    return kernel::kFailed;
  }
}

kernel::Status Communicator::wait_slow(void* self, int peer, std::uint64_t target, int tick,
                                       int launch) {
  auto& me = *static_cast<Communicator*>(self);
  return me.status_of([&] {
    me.wait_for(peer, target, [&] {
      return "to finish tick " + std::to_string(target - me.base_) + " before its own " +
             me.tick_text(tick, launch);
    });
  });
}

kernel::Status Communicator::matmul(void* self, const kernel::MatmulCall& call) {
  return static_cast<Communicator*>(self)->status_of([&] { runtime::matmul(call); });
}

kernel::Status Communicator::conv2d(void* self, const kernel::Conv2dCall& call) {
  return static_cast<Communicator*>(self)->status_of([&] { runtime::conv2d(call); });
}

kernel::Status Communicator::fail_call(void* self, int launch, const char* message) {
  auto& me = *static_cast<Communicator*>(self);
  return me.status_of(
      [&] { throw UserError(ErrorKind::data, me.launch_text_(launch) + ": " + message); });
}

kernel::Status Communicator::divide(void* self, int parts, Workers::Work work,
                                    const void* context) {
  return static_cast<Communicator*>(self)->workers_->divide(parts, work, context);
}

std::string Communicator::tick_text(int tick, int launch) const {
  return "tick " + std::to_string(tick) + ", " + launch_text_(launch);
}

std::string Communicator::place_of(int peer) const {
  const std::uint64_t progress = progress_of(peer);
  if (progress < base_) return "it has not entered";
  if (!in_call_) return "it has entered";
  return "it has finished tick " + std::to_string(progress - base_);
}

std::string Communicator::awaited_by(int peer) const {
  int last = peer;
  for (int steps = 0; steps < ranks(); ++steps) {  // the chain may turn in a circle
    const int next = segment(last).header().awaited.load(std::memory_order_relaxed) - 1;
    if (next < 0 || next == rank_) break;
    last = next;
  }
  if (last == peer) return "";
  return "; that waits for " + rank_text(last) + " (" + place_of(last) + ")";
}

void Communicator::wait_for(int peer, std::uint64_t target,
                            const std::function<std::string()>& describe) {
  for (int pause = 0; pause < (load_ == 1 ? kPauses : 1); ++pause) {
    if (progress_of(peer) >= target) return;
    relax();
  }
  raise_failure();
  Backoff backoff(load_);
  Clock::duration next_check = check_every_;
  bool warned = false;
  while (progress_of(peer) < target) {
    backoff.pause();
    if (backoff.waited() < next_check) continue;
    next_check = backoff.waited() + check_every_;
    own().awaited.store(peer + 1, std::memory_order_relaxed);
    const auto report = [&] {
      return rank_text(rank_) + " has waited " + seconds_text(backoff.waited()) + " for " +
             rank_text(peer) + " " + describe() + " (" + place_of(peer) + ")" + awaited_by(peer);
    };
    check_peers(peer, target, describe());
    if (!warned && backoff.waited() >= options_.warn_after) {
      warned = true;
      options_.warn(report());
    }
    if (backoff.waited() >= options_.timeout) {
      fail(report() + "; the timeout is " + seconds_text(options_.timeout));
    }
  }
  own().awaited.store(0, std::memory_order_relaxed);
}

std::string Communicator::stop_text(int because_of, const std::string& did, int peer,
                                    const std::string& what) const {
  return rank_text(rank_) + " stopped because " + rank_text(because_of) + " " + did + " while " +
         rank_text(rank_) + " waited for " + rank_text(peer) + " " + what;
}

void Communicator::check_peers(int peer, std::uint64_t target, const std::string& what) {
  for (int other = 0; other < ranks(); ++other) {
    const SegmentHeader& header = segment(other).header();
    if (other == rank_ || header.state.load(std::memory_order_acquire) != RankState::failed) {
      continue;
    }
    stop(other, stop_text(other, "failed", peer, what) + ": " + header.error.load().message);
  }
  check_deaths(peer, target, what);
  const RankState state = segment(peer).header().state.load(std::memory_order_acquire);
  if (state == RankState::left && progress_of(peer) < target) {
    stop(peer, rank_text(rank_) + " waits for " + rank_text(peer) + " " + what + ", but " +
                   rank_text(peer) + " has ended (" + place_of(peer) +
                   "); all ranks must make the same calls");
  }
}

void Communicator::check_deaths(int peer, std::uint64_t target, const std::string& what) {
  if (deaths_.empty()) return;
  std::vector<pollfd> polls;
  for (const FileDescriptor& death : deaths_) polls.push_back({death.number(), POLLIN, 0});
  if (poll(polls.data(), polls.size(), 0) <= 0) return;
  const int reason = options_.failed_rank ? options_.failed_rank() : -1;
  for (int i = reason < 0 ? 0 : -1; i < ranks(); ++i) {
    const int other = i < 0 ? reason : i;
    if (other == rank_ || polls[static_cast<std::size_t>(other)].revents == 0) continue;
    const RankState state = segment(other).header().state.load(std::memory_order_acquire);
    if (state != RankState::running) continue;
    if (other == peer && progress_of(peer) >= target) continue;
    stop(other, stop_text(other, "died", peer, what));
  }
}

// --- Failure ---

void Communicator::fail(const std::string& message) {
  failure_ = RankError{false, ErrorKind::runtime, message, {}};
  failure_->raise();
}

void Communicator::stop(int because_of, const std::string& message) {
  stopped_by_ = because_of;
  fail(message);
}

void Communicator::raise_failure() const {
  if (failure_) failure_->raise();
}

void Communicator::publish_left() { own().state.store(RankState::left, std::memory_order_release); }

void Communicator::publish_failure(const RankError& error) {
  if (!stopped_by_) own().error.store(error);
  own().state.store(stopped_by_ ? RankState::stopped : RankState::failed,
                    std::memory_order_release);
}

}  // namespace coconet::runtime
