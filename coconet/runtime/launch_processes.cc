#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <thread>

#include "coconet/runtime/bootstrap.h"
#include "coconet/runtime/rank_body.h"

namespace coconet::runtime {

namespace {

// How long ranks may take to notice by themselves that one of them has failed.
constexpr auto kGrace = std::chrono::seconds(1);

std::string signal_text(int number) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  const char* name = sigabbrev_np(number);
  const std::string text = name != nullptr ? std::string("SIG") + name : "unknown";
#else
  const std::string text = strsignal(number);
#endif
  std::string out = "signal " + std::to_string(number) + " (" + text + ")";
  return out;
}

// How a signal may come of too little memory: oneDNN does not look whether it has got any.
std::string want_of_memory(int number) {
  if (number == SIGKILL) return "; the kernel does so too when memory runs out";
  rlimit limit{};
  const bool limited =
      getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && number == SIGSEGV;
  return limited ? "; a library does so when ulimit -v leaves it too little memory" : "";
}

// The life of a rank in its own process.
class Child {
 public:
  Child(const LaunchOptions& options, const RankFunction& function, const JobRecord& job,
        const std::string& name)
      : options_(options), function_(function), job_(job), name_(name), cores_(allowed_cores()) {}

  [[noreturn]] void run(int rank, pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (const int number : {SIGINT, SIGTERM}) {
      // A handler is the parent's; what it ignores (as a shell's background jobs do) stays ignored.
      if (signal(number, SIG_DFL) == SIG_IGN) signal(number, SIG_IGN);
    }
    try {
      join_and_run(rank);
    } catch (const PeerFailure&) {
      record_end(job_, rank, RankOutcome::stopped, rank_error_of(std::current_exception()));
    } catch (...) {
      record_end(job_, rank, RankOutcome::failed, rank_error_of(std::current_exception()));
    }
    std::cout.flush();
    std::fflush(nullptr);
    // Not exit(): what the parent registered to be done at its end is not this process's to do.
    _exit(0);
  }

 private:
  void join_and_run(int rank) const {
    const RankCores cores = pin_rank(options_, cores_, rank);
    cores.bind(0);
    Joined joined = join({.job = name_,
                          .rank = rank,
                          .ranks = options_.ranks,
                          .data_bytes = options_.data_bytes,
                          .plan_hash = options_.plan_hash,
                          .timeout = options_.join_timeout,
                          .failed_rank = [this] { return job_.failed_rank(); }});
    CommunicatorOptions settings = options_.communicator;
    if (settings.cores == 0) settings.cores = static_cast<int>(cores_.size());
    settings.place = &job_.rank(rank).place;
    settings.place->joined();
    settings.failed_rank = [this] { return job_.failed_rank(); };
    Communicator communicator(rank, std::move(joined.segments), std::move(joined.deaths), settings);
    run_rank(communicator, cores, function_, job_);
  }

  const LaunchOptions& options_;
  const RankFunction& function_;
  const JobRecord& job_;
  const std::string& name_;
  std::vector<int> cores_;
};

// The processes that run; kills and reaps what is left of them when destroyed.
class Children {
 public:
  // `timeout`: how long a rank may be stopped by a signal.
  Children(const JobRecord& job, std::chrono::milliseconds timeout)
      : job_(job), timeout_(timeout) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    kill_all();
    for (const Process& process : processes_) {
      if (process.id > 0) waitpid(process.id, nullptr, 0);
    }
  }

  void add(pid_t process) { processes_.push_back({process, kNever, false}); }

  void wait_for_all() {
    auto nap = std::chrono::microseconds(50);
    Clock::time_point failed_at = kNever;
    while (reap()) {
      const int failed = first_failed();
      if (failed_at == kNever && failed >= 0) failed_at = Clock::now();
      if (failed >= 0 && job_.rank(failed).state != RankOutcome::stopped) job_.tell_failed(failed);
      if (failed_at == kNever) kill_stopped();
      if (!killed_ && failed_at != kNever && Clock::now() - failed_at > kGrace) kill_all();
      std::this_thread::sleep_for(nap);
      nap = std::min(nap * 2, std::chrono::microseconds(1000));
    }
  }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  struct Process {
    pid_t id;  // 0: reaped
    Clock::time_point stopped_at;
    bool stopped_too_long;
  };

  void kill_all() {
    killed_ = true;
    for (const Process& process : processes_) {
      if (process.id > 0) kill(process.id, SIGKILL);
    }
  }

  // Records the ends and stops of the processes; says whether any still runs.
  bool reap() {
    bool running = false;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Process& process = processes_[i];
      if (process.id == 0) continue;
      int status = 0;
      const pid_t changed = waitpid(process.id, &status, WNOHANG | WUNTRACED | WCONTINUED);
      const bool stopped = changed > 0 && WIFSTOPPED(status);
      const bool continued = changed > 0 && WIFCONTINUED(status);
      if (stopped) process.stopped_at = Clock::now();
      if (continued) process.stopped_at = kNever;
      if (changed == 0 || stopped || continued || (changed < 0 && errno == EINTR)) {
        running = true;
        continue;
      }
      process.id = 0;
      const int rank = static_cast<int>(i);
      if (job_.rank(rank).ended.load(std::memory_order_acquire)) continue;
      record_end(job_, rank, state_of(process, status), silent_end(process, rank, status));
    }
    return running;
  }

  // A rank that nobody waits for may be stopped as long as one that is waited for, and a little
  // longer, as those who wait know more.
  void kill_stopped() {
    for (Process& process : processes_) {
      if (process.id == 0 || process.stopped_too_long || process.stopped_at == kNever) continue;
      if (Clock::now() - process.stopped_at < timeout_ + kGrace) continue;
      process.stopped_too_long = true;
      kill(process.id, SIGKILL);
    }
  }

  // How a rank ended that did not say it itself.
  RankOutcome::State state_of(const Process& process, int status) const {
    const bool by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && killed_;
    return by_us && !process.stopped_too_long ? RankOutcome::stopped : RankOutcome::killed;
  }

  RankError silent_end(const Process& process, int rank, int status) const {
    const std::string place = job_.rank(rank).place.text();
    const std::string stopped = " was stopped by a signal, as SIGSTOP, " + place;
    std::string what;
    if (process.stopped_too_long) {
      what = stopped + " and not continued; the timeout is " + seconds_text(timeout_);
    } else if (state_of(process, status) == RankOutcome::stopped) {
      const std::string failed = "rank " + std::to_string(first_failed());
      what =
          process.stopped_at != kNever
              ? stopped + " and not continued, until " + failed + " had failed"
              : " was still at work 1 s after " + failed + " had failed, and was killed " + place;
    } else if (WIFSIGNALED(status)) {
      what = " was killed by " + signal_text(WTERMSIG(status)) + " " + place +
             want_of_memory(WTERMSIG(status));
    } else {
      what = " ended with exit code " + std::to_string(WEXITSTATUS(status)) +
             " in the middle of its work";
    }
    return {false, ErrorKind::runtime, "rank " + std::to_string(rank) + what, {}};
  }

  // The rank whose failure is the reason, as far as is known; -1: none has failed.
  int first_failed() const {
    int first = -1;
    for (int i = 0; i < static_cast<int>(processes_.size()); ++i) {
      const RankRecord& record = job_.rank(i);
      if (!record.ended.load(std::memory_order_acquire)) continue;
      if (record.state == RankOutcome::finished) continue;
      if (first < 0 || comes_before(record.state, record.order, job_.rank(first).state,
                                    job_.rank(first).order)) {
        first = i;
      }
    }
    return first;
  }

  const JobRecord& job_;
  std::chrono::milliseconds timeout_;
  std::vector<Process> processes_;  // by rank
  bool killed_ = false;
};

}  // namespace

std::vector<RankOutcome> launch_processes(const LaunchOptions& options,
                                          const RankFunction& function) {
  const JobRecord job(options.ranks);
  const std::string name = make_job_name();
  const Child child(options, function, job, name);
  Children children(job, options.communicator.timeout);
  const pid_t parent = getpid();
  // What is buffered now would be written by every child again.
  std::cout.flush();
  std::fflush(nullptr);
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) child.run(rank, parent);
    if (process < 0) throw_system_error("cannot start rank " + std::to_string(rank));
    children.add(process);
  }
  children.wait_for_all();
  std::vector<RankOutcome> out;
  for (int rank = 0; rank < options.ranks; ++rank) out.push_back(outcome_of(job.rank(rank)));
  return out;
}

}  // namespace coconet::runtime
