// Ranks that join from processes which somebody else has started.
#include "coconet/execute/join.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "coconet/runtime/bootstrap.h"
#include "coconet/runtime/local_socket.h"
#include "coconet/runtime/shared_bytes.h"
#include "tests/support/planned.h"

namespace coconet {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 3;

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

class JoinProcess : public testing::Test {
 protected:
  // The words of the error that each rank ends with; "": none. Each is a process of its own.
  std::vector<std::string> run(const std::function<void(int rank)>& body) {
    constexpr std::size_t kMost = 2000;
    const runtime::SharedBytes errors(kMost * kRanks);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < kRanks; ++rank) {
      processes.push_back(fork());
      if (processes.back() > 0) continue;
      try {
        body(rank);
      } catch (const std::exception& error) {
        const std::string text = std::string(error.what()).substr(0, kMost - 1);
        std::copy(text.begin(), text.end(), errors.as<char>().data() + kMost * rank);
      }
      _exit(0);
    }
    std::vector<std::string> out;
    for (int rank = 0; rank < kRanks; ++rank) {
      waitpid(processes[rank], nullptr, 0);
      out.push_back(errors.as<char>().data() + kMost * rank);
    }
    return out;
  }

  std::unique_ptr<execute::RankCalls> joined(int rank) const {
    return joined(rank, sample_.setting);
  }
  std::unique_ptr<execute::RankCalls> joined(int rank, const interp::Setting& setting,
                                             const execute::SymmetricPlaces& symmetric = {}) const {
    execute::RunRequest request;
    request.setting = setting;
    request.timeout = std::chrono::seconds(20);
    return execute::join(compiled_, request, {job_, rank, std::chrono::seconds(3), symmetric});
  }
  std::shared_ptr<runtime::SymmetricMemory> symmetric(int rank, std::size_t bytes) const {
    return std::make_shared<runtime::SymmetricMemory>(job_ + "-memory", rank, kRanks, bytes,
                                                      std::chrono::seconds(3));
  }

  Planned sample_ = planned(
      "mesh world(dp)\ndim N\nprogram p(x: f32[N] local) {\n  y = all_reduce(x, +)\n"
      "  return y\n}\n",
      "", {{"N", 1500}}, {kRanks});
  execute::Compiled compiled_{sample_.graph, {}, runtime::Toolchain()};
  const std::string job_ = runtime::make_job_name();
};

void need(bool fine) {
  if (!fine) throw std::runtime_error("a wrong sum");
}

TEST_F(JoinProcess, CallsAsRanksThatWereStartedTogether) {
  const auto errors = run([&](int rank) {
    const auto calls = joined(rank);
    for (int call = 1; call <= 5; ++call) {
      for (float& element : floats(calls->own("x"))) element = static_cast<float>(call + rank);
      calls->call();
      need(floats(calls->own("y"))[1499] == static_cast<float>(3 * call + 3));
    }
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST_F(JoinProcess, InputsAndOutputsStandInSymmetricMemory) {
  for (const std::int64_t elements : {1500, 7, 100'000}) {
    interp::Setting setting = sample_.setting;
    setting.sizes["N"] = elements;
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
    const std::size_t out = (bytes + 127) / 128 * 128;
    const auto errors = run([&](int rank) {
      const auto memory = symmetric(rank, out + bytes);
      const auto calls = joined(rank, setting, {{"x", {memory, 0}}, {"y", {memory, out}}});
      const std::span<float> x = floats(memory->of(rank).first(bytes));
      const std::span<float> y = floats(memory->of(rank).subspan(out));
      need(floats(calls->own("x")).data() == x.data() && calls->own("y").size() == bytes);
      for (int call = 1; call <= 5; ++call) {
        for (float& element : x) element = static_cast<float>(call + rank);
        calls->call();
        for (const float element : y) need(element == static_cast<float>(3 * call + 3));
      }
    });
    EXPECT_THAT(errors, testing::Each("")) << elements;
  }
}

TEST_F(JoinProcess, PlacesInSymmetricMemoryAreComparedAndMustFit) {
  const auto errors_of = [&](const std::function<execute::SymmetricPlaces(
                                 int, const std::shared_ptr<runtime::SymmetricMemory>&)>& places) {
    return run([&](int rank) {
      const auto memory = symmetric(rank, 16384);
      joined(rank, sample_.setting, places(rank, memory));
    });
  };
  const auto others = errors_of([](int rank, const auto& memory) {
    return execute::SymmetricPlaces{{"x", {memory, rank == 1 ? 128U : 0U}}};
  });
  EXPECT_THAT(others[0], HasSubstr("x at byte 128 of the symmetric memory"));
  const auto refused = [&](const execute::SymmetricPlaces& names, const std::string& text) {
    const auto errors = errors_of([&](int, const auto& memory) {
      execute::SymmetricPlaces out = names;
      for (auto& [name, place] : out) place.memory = memory;
      return out;
    });
    EXPECT_THAT(errors, testing::Each(HasSubstr(text)));
  };
  refused({{"x", {nullptr, 64}}}, "needed is a multiple of 128");
  refused({{"x", {nullptr, 12800}}}, "needed at byte 12800 are 6000");
  refused({{"x", {nullptr, 0}}, {"y", {nullptr, 5888}}}, "overlaps that of x");
  refused({{"z", {nullptr, 0}}}, "no input, state or output z");
}

TEST_F(JoinProcess, ARankThatDoesNotComeIsNamed) {
  const auto errors = run([&](int rank) {
    if (rank != 2) joined(rank);
  });
  EXPECT_THAT(errors[0], HasSubstr("2"));
  EXPECT_NE(errors[1], "");
}

TEST_F(JoinProcess, ARankThatDiesStopsTheOthers) {
  const auto errors = run([&](int rank) {
    const auto calls = joined(rank);
    calls->own("x");
    calls->call();
    if (rank == 1) _exit(1);
    calls->call();
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1"));
  EXPECT_THAT(errors[2], HasSubstr("rank 1"));
}

TEST_F(JoinProcess, ARankThatHasLeftIsNotWaitedFor) {
  const auto errors = run([&](int rank) {
    auto calls = joined(rank);
    calls->own("x");
    calls->call();
    if (rank == 0) return;
    calls->call();
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_THAT(errors[1], HasSubstr("rank 0"));
  EXPECT_THAT(errors[2], HasSubstr("rank 0"));
}

TEST_F(JoinProcess, WhatARankRefusesIsToldToTheOthers) {
  const auto errors = run([&](int rank) {
    const auto calls = joined(rank);
    if (rank != 1) calls->own("x");
    calls->call();
  });
  EXPECT_THAT(errors[1], HasSubstr("x"));
  EXPECT_THAT(errors[0], HasSubstr("rank 1"));
}

// Each would compute, and no rank would see that it is something else.
TEST_F(JoinProcess, RanksOfOtherSizesOrSeedsAreRefused) {
  // Of ranks 0 and 1: rank 2 may come when they are gone.
  const auto errors_of = [&](const std::function<void(interp::Setting&)>& change) {
    const auto all = run([&](int rank) {
      interp::Setting setting = sample_.setting;
      if (rank == 1) change(setting);
      joined(rank, setting);
    });
    return std::vector<std::string>{all[0], all[1]};
  };
  EXPECT_THAT(errors_of([](interp::Setting& setting) { setting.sizes["N"] = 1501; }),
              testing::Each(HasSubstr("rank 1 joined with N=1501, rank 0 with N=1500")));
  EXPECT_THAT(errors_of([](interp::Setting& setting) { setting.seed = 77; }),
              testing::Each(HasSubstr("rank 1 joined with seed 77, rank 0 with seed ")));
}

// As many members, as many elements in all; more than a message tells.
TEST_F(JoinProcess, RanksOfListsOfOtherSizesAreRefused) {
  Sizes sizes;
  sizes.lists["N_i"] = std::vector<std::int64_t>(20, 100);
  const Planned sample = planned(
      "mesh world(dp)\ndim N_i\nprogram p(x: f32[N_i] list local) {\n  y = all_reduce(x, +)\n"
      "  return y\n}\n",
      "", sizes, {kRanks});
  const execute::Compiled compiled(sample.graph, {}, runtime::Toolchain());
  const auto errors = run([&](int rank) {
    execute::RunRequest request;
    request.setting = sample.setting;
    if (rank == 1) {
      request.setting.sizes.lists["N_i"][3] = 99;
      request.setting.sizes.lists["N_i"][4] = 101;
    }
    execute::join(compiled, request, {job_, rank, std::chrono::seconds(3)});
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 joined with sizes of N_i whose hash is "));
  EXPECT_EQ(errors[1], errors[0]);
}

TEST_F(JoinProcess, AfterAnErrorTheJobIsOver) {
  const auto errors = run([&](int rank) {
    const auto calls = joined(rank);
    try {
      calls->call();  // without x
    } catch (const UserError&) {
      calls->own("x");
      calls->call();
    }
  });
  EXPECT_THAT(errors, testing::Each(HasSubstr("the job is over for all of its ranks")));
}

TEST_F(JoinProcess, AForkOfARankMakesNoCalls) {
  const auto errors = run([&](int rank) {
    const auto calls = joined(rank);
    calls->own("x");
    calls->call();
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      try {
        calls->call();
      } catch (const UserError& error) {
        _exit(std::string(error.what()).find("by a fork") != std::string::npos ? 7 : 8);
      }
      _exit(9);
    }
    waitpid(child, &status, 0);
    need(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    calls->call();
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST_F(JoinProcess, ANameOfAJobHasALength) {
  execute::RunRequest request;
  request.setting = sample_.setting;
  for (const std::string& name : {std::string(), std::string(91, 'j')}) {
    EXPECT_THROW(execute::join(compiled_, request, {name, 0, std::chrono::seconds(1)}), UserError);
  }
}

TEST_F(JoinProcess, ARankZeroThatIsThereAlreadyIsTold) {
  const runtime::FileDescriptor there = runtime::claim_name(job_);
  const auto errors = run([&](int rank) {
    if (rank == 0) joined(rank);
  });
  EXPECT_THAT(errors[0], HasSubstr("a rank 0 of the job " + job_ + " is there already"));
}

TEST_F(JoinProcess, ARankBeyondTheMeshIsRefused) {
  const auto errors = run([&](int rank) { joined(rank + kRanks); });
  EXPECT_THAT(errors[0], HasSubstr("found rank 3; the mesh has ranks 0 to 2"));
}

}  // namespace
}  // namespace coconet
