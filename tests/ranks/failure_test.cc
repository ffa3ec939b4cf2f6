#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "coconet/runtime/shared_bytes.h"
#include "tests/support/files.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using runtime::Communicator;
using runtime::RankKind;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string message_of(const runtime::LaunchOptions& options,
                       const runtime::RankFunction& function) {
  try {
    runtime::run_ranks(options, function);
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::runtime);
    return error.message();
  }
  return "no error";
}

TEST(Failure, AnErrorKeepsItsKindAndPlace) {
  for (const RankKind kind : rank_kinds()) {
    try {
      spawn(3, kind, [](Communicator& c) {
        if (c.rank() == 1) throw UserError(ErrorKind::data, "bad value", {"x.npy", 3, 4, 1});
        c.barrier("after");
      });
      FAIL() << "no error";
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_STREQ(error.what(), "x.npy:3:4: rank 1: bad value");
    }
  }
}

TEST(Failure, AnInternalErrorStaysInternal) {
  for (const RankKind kind : rank_kinds()) {
    EXPECT_THROW(spawn(2, kind,
                       [](Communicator& c) {
                         if (c.rank() == 0) throw std::out_of_range("an index");
                         c.barrier("after");
                       }),
                 InternalError);
  }
}

TEST(Failure, OthersStopAndSayWhy) {
  for (const RankKind kind : rank_kinds()) {
    const Timer timer;
    const auto texts = outcome_texts(test_launch(3, kind), [](Communicator& c) {
      if (c.rank() == 2) throw UserError(ErrorKind::runtime, "no disk");
      c.barrier("after");
    });
    const auto stopped = [](const std::string& who) {
      return AllOf(StartsWith("stopped: " + who + " stopped because rank 2 failed while " + who +
                              " waited for rank "),
                   testing::EndsWith(" to enter barrier \"after\": no disk"));
    };
    EXPECT_THAT(texts,
                testing::ElementsAre(stopped("rank 0"), stopped("rank 1"), "failed: no disk"));
    EXPECT_LT(timer.seconds(), 5);
  }
}

TEST(Failure, PlanHashesDiffer) {
  for (const RankKind kind : rank_kinds()) {
    EXPECT_THAT(message_of(test_launch(2, kind),
                           [](Communicator& c) { c.enter_call(c.rank() == 0 ? 0xa : 0xb); }),
                AllOf(HasSubstr("0x000000000000000a"), HasSubstr("0x000000000000000b"),
                      HasSubstr("same program, schedule and sizes")));
  }
}

TEST(Failure, InputsDiffer) {
  EXPECT_THAT(message_of(test_launch(3, RankKind::thread),
                         [](Communicator& c) { c.enter_call(1, c.rank() == 1 ? 0x1c : 0x2d); }),
              AllOf(HasSubstr("replicated inputs differ"), HasSubstr("0x000000000000001c"),
                    HasSubstr("0x000000000000002d")));
}

TEST(Failure, ABarrierMeetsACall) {
  EXPECT_THAT(message_of(test_launch(2, RankKind::thread),
                         [](Communicator& c) {
                           if (c.rank() == 0) {
                             c.barrier("x");
                           } else {
                             c.enter_call(1);
                           }
                         }),
              AllOf(HasSubstr("barrier 0"), HasSubstr("call 0")));
}

TEST(Failure, ARankEndsTooEarly) {
  for (const RankKind kind : rank_kinds()) {
    EXPECT_THAT(message_of(test_launch(2, kind),
                           [](Communicator& c) {
                             c.barrier("both");
                             if (c.rank() == 1) c.barrier("one");
                           }),
                AllOf(StartsWith("rank 1 waits for rank 0 to enter barrier \"one\""),
                      HasSubstr("rank 0 has ended")));
  }
}

TEST(Failure, ALateRankIsWarnedOfAndNamed) {
  runtime::LaunchOptions options = test_launch(2, RankKind::thread);
  options.communicator.timeout = milliseconds(600);
  options.communicator.warn_after = milliseconds(200);
  std::vector<std::string> warnings;
  options.communicator.warn = [&](const std::string& text) { warnings.push_back(text); };
  const std::string message = message_of(options, [](Communicator& c) {
    c.describe_launches([](int launch) { return "ar = all_reduce(x) #" + std::to_string(launch); });
    const kernel::Call call = c.enter_call(1);
    if (c.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(1000));
      kernel::signal(call, 4);
    } else {
      kernel::wait(call, 1, 5, 6, 2);
      c.raise_failure();
    }
    c.leave_call(4);
  });
  const auto report = AllOf(HasSubstr("for rank 1 to finish tick 5 before its own tick 6, "
                                      "ar = all_reduce(x) #2 (it has finished tick 0)"),
                            StartsWith("rank 0 has waited"));
  EXPECT_THAT(message, AllOf(report, HasSubstr("the timeout is 0.6 s")));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], report);
}

TEST(Failure, ACommunicatorStaysUnusable) {
  EXPECT_THAT(message_of(test_launch(2, RankKind::thread),
                         [](Communicator& c) {
                           if (c.rank() == 1) throw UserError(ErrorKind::runtime, "first");
                           try {
                             c.barrier("a");
                           } catch (const UserError&) {
                           }
                           c.barrier("b");
                         }),
              "rank 1: first\n  rank 0 stopped because rank 1 failed while rank 0 waited for "
              "rank 1 to enter barrier \"a\"");
}

TEST(Failure, ProcessKilledIsNamed) {
  const Timer timer;
  const auto texts = outcome_texts(test_launch(4, RankKind::process), [](Communicator& c) {
    c.barrier("start");
    if (c.rank() == 2) {
      std::this_thread::sleep_for(milliseconds(50));
      raise(SIGKILL);
    }
    c.barrier("end");
  });
  EXPECT_LT(timer.seconds(), 3);
  EXPECT_THAT(texts[2], HasSubstr("killed: rank 2 was killed by signal 9 (SIGKILL) after barrier "
                                  "\"start\"; the kernel does so too when memory runs out"));
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                AllOf(StartsWith("stopped: "), HasSubstr("rank 2 died")));
  }
  EXPECT_FALSE(has_children());
}

TEST(Failure, ProcessThatNeverWaitsIsKilled) {
  const Timer timer;
  const auto texts = outcome_texts(test_launch(2, RankKind::process), [](Communicator& c) {
    if (c.rank() == 0) raise(SIGTERM);
    for (;;) std::this_thread::sleep_for(milliseconds(100));
  });
  EXPECT_LT(timer.seconds(), 3);
  EXPECT_EQ(texts[1],
            "stopped: rank 1 was still at work 1 s after rank 0 had failed, and was killed before "
            "its first call");
  EXPECT_FALSE(has_children());
}

// Which failed first by its death, and is seen to have died later.
TEST(Failure, ProcessKilledIsTheReasonThoughAnotherFailedBefore) {
  const auto texts = outcome_texts(test_launch(3, RankKind::process), [](Communicator& c) {
    if (c.rank() == 0) throw UserError(ErrorKind::runtime, "a peer died");
    std::this_thread::sleep_for(milliseconds(50));
    if (c.rank() == 1) raise(SIGKILL);
    for (;;) std::this_thread::sleep_for(milliseconds(100));
  });
  EXPECT_THAT(texts[2],
              StartsWith("stopped: rank 2 was still at work 1 s after rank 1 had failed"));
}

TEST(Failure, ProcessThatExitsIsNamed) {
  EXPECT_THAT(message_of(test_launch(2, RankKind::process),
                         [](Communicator& c) {
                           if (c.rank() == 1) _exit(7);
                           c.barrier("end");
                         }),
              AllOf(StartsWith("rank 1 ended with exit code 7 in the middle of its work\n"),
                    HasSubstr("  rank 0 stopped because rank 1 died while")));
}

TEST(Failure, ProcessStoppedTimesOut) {
  runtime::LaunchOptions options = test_launch(2, RankKind::process);
  options.communicator.timeout = milliseconds(1000);
  const Timer timer;
  EXPECT_THAT(
      message_of(options,
                 [](Communicator& c) {
                   if (c.rank() == 1) raise(SIGSTOP);
                   c.barrier("end");
                 }),
      AllOf(HasSubstr("for rank 1 to enter barrier \"end\""), HasSubstr("1 s"),
            HasSubstr("\n  rank 1 was stopped by a signal, as SIGSTOP, before its first call "
                      "and not continued, until rank 0 had failed")));
  EXPECT_LT(timer.seconds(), 4);
  EXPECT_FALSE(has_children());
}

// Nobody waits for it.
TEST(Failure, ProcessStoppedAloneTimesOut) {
  runtime::LaunchOptions options = test_launch(1, RankKind::process);
  options.communicator.timeout = milliseconds(200);
  const Timer timer;
  EXPECT_EQ(message_of(options, [](Communicator&) { raise(SIGSTOP); }),
            "rank 0 was stopped by a signal, as SIGSTOP, before its first call and not continued; "
            "the timeout is 0.2 s");
  EXPECT_LT(timer.seconds(), 4);
  EXPECT_FALSE(has_children());
}

// Ctrl-Z and fg: the time in which a rank was itself stopped is none that it has waited.
TEST(Failure, ProcessStoppedAndContinuedGoesOn) {
  runtime::LaunchOptions options = test_launch(2, RankKind::process);
  options.communicator.timeout = milliseconds(1000);
  const runtime::SharedBytes ids(2 * sizeof(pid_t));
  EXPECT_EQ(message_of(options,
                       [&](Communicator& c) {
                         ids.as<pid_t>()[static_cast<std::size_t>(c.rank())] = getpid();
                         c.barrier("both known");
                         if (c.rank() == 1) {
                           std::this_thread::sleep_for(milliseconds(100));
                           kill(ids.as<pid_t>()[0], SIGSTOP);
                           std::this_thread::sleep_for(milliseconds(1500));
                           kill(ids.as<pid_t>()[0], SIGCONT);
                           std::this_thread::sleep_for(milliseconds(100));
                         }
                         c.barrier("end");
                       }),
            "no error");
}

TEST(Failure, TheEndOfAChainOfWaitingRanksIsNamed) {
  runtime::LaunchOptions options = test_launch(3, RankKind::thread);
  std::string warning;
  options.communicator.warn_after = milliseconds(300);
  options.communicator.warn = [&](const std::string& text) {
    if (text.starts_with("rank 0 ")) warning = text;
  };
  EXPECT_EQ(message_of(options,
                       [](Communicator& c) {
                         const kernel::Call call = c.enter_call(1);
                         // Rank 2 is late, rank 1 waits for it, rank 0 for rank 1.
                         if (c.rank() == 2) std::this_thread::sleep_for(milliseconds(900));
                         if (c.rank() < 2) kernel::wait(call, c.rank() + 1, 1, 1, 0);
                         kernel::signal(call, 1);
                         c.leave_call(1);
                       }),
            "no error");
  EXPECT_THAT(warning, AllOf(HasSubstr("for rank 1 to finish tick 1"),
                             HasSubstr("; that waits for rank 2 (it has finished tick 0)")));
}

TEST(Failure, AKilledRankGoesBeforeOnesThatFailedEarlier) {
  using runtime::RankOutcome;
  const auto error = [](const char* text) {
    return runtime::RankError{false, ErrorKind::runtime, text, {}};
  };
  const std::vector<RankOutcome> outcomes = {{RankOutcome::failed, error("rank 1 died"), 0},
                                             {RankOutcome::killed, error("rank 1 was killed"), 2},
                                             {RankOutcome::stopped, error("stopped"), 1}};
  try {
    runtime::raise_failed_rank(outcomes);
    FAIL() << "nothing raised";
  } catch (const UserError& raised) {
    EXPECT_EQ(raised.message(), "rank 1 was killed\n  rank 0: rank 1 died\n  rank 2: stopped");
  }
}

TEST(Failure, RanksThatSayTheSameShareALine) {
  using runtime::RankOutcome;
  const auto outcome = [](RankOutcome::State state, const std::string& text, int order) {
    return RankOutcome{state, {false, ErrorKind::runtime, text, {}}, order};
  };
  const auto text_of = [](const std::vector<RankOutcome>& outcomes) {
    return test::user_error_of([&] { runtime::raise_failed_rank(outcomes); });
  };
  std::vector<RankOutcome> outcomes = {
      outcome(RankOutcome::failed, "no room", 1), outcome(RankOutcome::failed, "no room", 0),
      outcome(RankOutcome::stopped, "rank 2 stopped because rank 1 failed: no room", 2),
      outcome(RankOutcome::finished, "", 3), outcome(RankOutcome::failed, "no room", 4)};
  EXPECT_EQ(text_of(outcomes),
            "rank 1: no room\n  ranks 0, 4: the same\n  rank 2 stopped because rank 1 failed");
  outcomes.resize(1);
  for (int i = 1; i < 30; ++i) {
    outcomes.push_back(outcome(RankOutcome::stopped, "text " + std::to_string(i), i + 1));
  }
  EXPECT_THAT(text_of(outcomes), testing::EndsWith("\n  rank 16: text 16\n  and 13 more"));
}

TEST(Failure, ProcessesLeaveNothingBehind) {
  const int before = open_descriptors();
  for (int i = 0; i < 3; ++i) {
    spawn(3, RankKind::process, [](Communicator& c) { c.barrier("x"); });
  }
  outcome_texts(test_launch(3, RankKind::process), [](Communicator&) { raise(SIGKILL); });
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_FALSE(has_children());
}

// The parent of the ranks is killed: none of them lives on.
TEST(Failure, ProcessesEndWithTheirParent) {
  const runtime::SharedBytes ids(2 * sizeof(pid_t));
  for (const int signal_number : {SIGKILL, SIGTERM}) {
    const pid_t parent = fork();
    if (parent == 0) {
      runtime::launch_ranks(test_launch(2, RankKind::process), [&](Communicator& c) {
        ids.as<pid_t>()[static_cast<std::size_t>(c.rank())] = getpid();
        c.barrier("both known");
        if (c.rank() == 0) kill(getppid(), signal_number);
        for (;;) pause();
      });
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(parent, &status, 0), parent);
    EXPECT_EQ(WTERMSIG(status), signal_number);
    const Timer timer;
    for (const pid_t id : ids.as<pid_t>()) {
      while (is_alive(id) && timer.seconds() < 3) std::this_thread::sleep_for(milliseconds(2));
      EXPECT_FALSE(is_alive(id)) << "process " << id << " lives on";
    }
  }
}

}  // namespace
}  // namespace coconet::tests
