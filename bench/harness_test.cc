// The harness on participants that are known: this program itself, with words that say how it is to
// behave. Times are not judged, but that a rank which takes long is the one that counts.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/harness/measure.h"
#include "bench/harness/peers.h"
#include "bench/harness/placement.h"
#include "bench/harness/report.h"
#include "bench/harness/workload.h"
#include "bench/worker/expected.h"
#include "coconet/base/error.h"

extern "C" {
int coconet_bench_serve(int argc, char** argv, int rank, void (*perform)(const char*),
                        void (*use)(const char*), double (*check)(const char*));
int coconet_bench_values(const char* of, int ranks, std::int64_t count, float* out);
}

namespace coconet::bench {
namespace {

using testing::HasSubstr;

class Known : public Operations {
 public:
  Known(const Arguments& arguments, int rank) : arguments_(arguments), rank_(rank) {}
  std::function<void()> operation(const std::string& name) override {
    if (name == "die") _exit(3);
    return [this, name] {
      if (name == "slow" && rank_ == 1) usleep(5000);
      if (name == "slower" && rank_ == 1) usleep(20'000);
      if (name == "on what check has filled in" && !filled_) usleep(5000);
    };
  }
  void use_buffers(const std::string&) override {}
  double check(const std::string&) override {
    filled_ = true;
    return rank_ == 1 ? static_cast<double>(arguments_.number("off")) : 0;
  }

 private:
  const Arguments& arguments_;
  int rank_;
  bool filled_ = false;
};

// As ranks that are not written in C++ are served (peers/serve_library.cc).
int participate_by_library(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const int rank = fork_ranks(static_cast<int>(arguments.number("ranks")));
  const auto slow = [](const char* name) {
    if (std::string(name) == "slow") usleep(5000);
  };
  const int status = coconet_bench_serve(
      argc, argv, rank, slow, [](const char*) {}, [](const char*) { return 0.25; });
  await_ranks(rank);
  return status;
}

int participate(const Arguments& arguments) {
  const int rank = fork_ranks(static_cast<int>(arguments.number("ranks")));
  Known operations(arguments, rank);
  serve(arguments, rank, operations);
  await_ranks(rank);
  return 0;
}

Participant known(const std::map<std::string, std::string>& words = {}) {
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  return Participant({.name = "known", .command = {self}, .words = words});
}

Cell cell(const std::string& name, std::size_t participant, const std::string& operation) {
  Cell out;
  out.workload = "work";
  out.name = name;
  out.participant = participant;
  out.operation = operation;
  return out;
}

const Effort kLittle = {.rounds = 2, .starts = 2, .batch_microseconds = 100, .fewest_batches = 1};

std::size_t kept_of(const Cell& cell) {
  std::size_t out = 0;
  for (const auto& [placement, medians] : cell.medians) out += medians.size();
  return out;
}

std::size_t batches_of(const Cell& cell) {
  return kept_of(cell) + static_cast<std::size_t>(cell.thrown_away);
}

TEST(Harness, TheSlowestRankCounts) {
  Participant participant = known();
  const Batch batch = participant.time("slow", 1, 3);
  ASSERT_EQ(batch.microseconds.size(), 3u);
  EXPECT_GE(batch.median(), 5000);
  EXPECT_GT(batch.round_trip_before, 0);
  EXPECT_GE(batch.turnaround, 5000);
}

// A participant that is started again is asked for times alone.
TEST(Harness, ArraysAreFilledBeforeTheFirstTime) {
  Participant participant = known();
  EXPECT_LT(participant.time("on what check has filled in", 1, 3).median(), 5000);
}

TEST(Harness, RanksInAnotherLanguageAreServedByALibrary) {
  Participant participant = known({{"by", "library"}});
  EXPECT_EQ(participant.check("quick"), 0.25);
  EXPECT_GE(participant.time("slow", 0, 3).median(), 5000);
  float values[3] = {};
  EXPECT_EQ(coconet_bench_values("total", 2, 3, values), 0);
  EXPECT_EQ(values[2], total(2, 2));
  EXPECT_EQ(coconet_bench_values("gradient", 1, 3, values), 0);
  EXPECT_EQ(values[1], gradient(1, 1));
  EXPECT_EQ(coconet_bench_values("p", 2, 3, values), 0);
  const ExpectedStep step(false, {.elements = 3}, 2, gradient);
  EXPECT_EQ(values[0], static_cast<float>(step.at(0, 0).p));
  EXPECT_EQ(coconet_bench_values("x", 2, 3, values), 1);
}

TEST(Harness, MoreRanksThanCoresTakeTurns) {
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  Participant participant({.name = "known", .command = {self}, .ranks = 5, .cores = {0}});
  const Batch batch = participant.time("slow", 1, 20);
  EXPECT_EQ(batch.microseconds.size(), 20u);
  EXPECT_GE(batch.median(), 5000);
  EXPECT_GT(batch.round_trip_after, 0);
}

TEST(Harness, AWrongResultOfOursEndsTheRunAPeersIsLeftOut) {
  for (const std::string ours : {"ours", "peer"}) {
    std::vector<Participant> participants;
    participants.push_back(known());
    participants.push_back(known({{"off", "2"}}));
    std::vector<Cell> cells = {cell("other", 0, "quick"), cell("peer", 1, "quick")};
    const std::string text = "peer, quick: the result is off by 2; allowed is 0";
    try {
      measure(participants, cells, kLittle, ours);
      EXPECT_EQ(ours, "ours");
      EXPECT_THAT(cells[1].failed, HasSubstr(text));
      EXPECT_TRUE(cells[1].medians.empty());
      EXPECT_FALSE(cells[0].medians.empty() && cells[0].thrown_away == 0);
    } catch (const WrongResult& error) {
      EXPECT_EQ(ours, "peer");
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  }
}

TEST(Harness, APeerThatDiesIsLeftOutAndOursIsNot) {
  for (const std::string ours : {"ours", "peer"}) {
    std::vector<Participant> participants;
    participants.push_back(known());
    participants.push_back(known());
    std::vector<Cell> cells = {cell("other", 0, "quick"), cell("peer", 1, "die")};
    if (ours == "peer") {
      EXPECT_THROW(measure(participants, cells, kLittle, ours), ParticipantFailed);
      continue;
    }
    measure(participants, cells, kLittle, ours);
    EXPECT_THAT(cells[1].failed, HasSubstr("known died"));
    EXPECT_EQ(batches_of(cells[0]), 4u);  // two rounds after each of two starts
  }
}

// How many batches each cell gets. That rests on how long its first iterations take, which a busy
// machine may turn round: so within some tries.
std::vector<std::size_t> batches_within_tries(const std::vector<Cell>& cells, const Effort& effort,
                                              const std::vector<std::size_t>& wanted) {
  std::vector<std::size_t> out;
  for (int tries = 0; tries < 10 && out != wanted; ++tries) {
    std::vector<Participant> participants;
    participants.push_back(known());
    std::vector<Cell> measured = cells;
    measure(participants, measured, effort, "ours");
    out.clear();
    for (const Cell& each : measured) out.push_back(batches_of(each));
  }
  return out;
}

TEST(Harness, APeerThatIsNotTheBestByFarGetsFewBatches) {
  std::vector<Cell> cells = {cell("ours", 0, "slow"), cell("a", 0, "quick"), cell("b", 0, "slow")};
  for (Cell& each : cells) each.peer = each.name != "ours";
  const std::vector<std::size_t> wanted = {4, 4, 2};  // two rounds after each of two starts
  EXPECT_EQ(batches_within_tries(cells, kLittle, wanted), wanted);
}

// The best figure of many is luck as well: the close ones are measured anew beside ours.
TEST(Harness, TheBestPeersAndOursAreMeasuredAnew) {
  std::vector<Cell> cells = {cell("ours", 0, "quick"), cell("a", 0, "slow"), cell("b", 0, "slower"),
                             cell("c", 0, "slower")};
  for (Cell& each : cells) each.peer = each.name != "ours";
  cells[1].tuned = cells[2].tuned = true;  // c is the best of those with default settings
  std::vector<Participant> participants;
  participants.push_back(known());
  measure(participants, cells, kLittle, "ours");
  EXPECT_FALSE(cells[0].out || cells[1].out || cells[3].out);
  EXPECT_TRUE(cells[2].out);
  // Of one pass; what was thrown away is counted of both.
  for (const Cell& each : cells) EXPECT_LE(kept_of(each), 4u) << each.name;
  EXPECT_EQ(participants[0].starts(), 4);
}

TEST(Harness, TheBestPeerIsOneOfTheFinals) {
  Row row;
  row.peers = {{"lucky", {1, true, true}}, {"slow", {3, true, false}}, {"good", {2, false, false}}};
  EXPECT_EQ(row.best(false), "good");
  row.peers.erase("good");
  row.peers.erase("slow");
  EXPECT_EQ(row.best(false), "lucky");
}

TEST(Harness, WhatTakesLongGetsFewerBatches) {
  Effort effort = kLittle;
  effort.rounds = 5;
  effort.cell_microseconds = 2 * 2.5 * 5'500;
  const std::vector<Cell> cells = {cell("ours", 0, "slow"), cell("ours", 0, "quick")};
  // One more than makes a figure; all.
  const std::vector<std::size_t> wanted = {2 * 2, 2 * 5};
  EXPECT_EQ(batches_within_tries(cells, effort, wanted), wanted);
}

TEST(Harness, WhatDoesNotStayIsStartedForEachBatch) {
  Effort effort = kLittle;
  effort.stay = false;
  std::vector<Participant> participants;
  participants.push_back(known());
  participants.push_back(known());
  std::vector<Cell> cells = {cell("ours", 0, "quick"), cell("ours", 0, "quick"),
                             cell("ours", 1, "quick"), cell("ours", 1, "quick")};
  measure(participants, cells, effort, "ours");
  // One for the checks, one or (where the round begins among its cells) two a round.
  for (const Participant& each : participants) {
    EXPECT_GE(each.starts(), 5);
    EXPECT_LE(each.starts(), 1 + 2 * 4);
    EXPECT_LT(participants[0].starts() + participants[1].starts(), 2 * (1 + 2 * 4));
  }
  for (const Cell& each : cells) EXPECT_EQ(batches_of(each), 4u);
}

TEST(Harness, AProgramThatIsNotThereIsNamedWithTheReason) {
  Participant participant({.name = "nobody", .command = {"/no/such/program"}});
  try {
    participant.start();
    FAIL();
  } catch (const ParticipantFailed& error) {
    EXPECT_THAT(error.what(), HasSubstr("nobody ended before it had to start"));
    EXPECT_THAT(error.what(), HasSubstr("cannot start /no/such/program"));
  }
}

TEST(Harness, BatchesWhosePlacementChangedAreOfNone) {
  const auto of = [](double before, double after) {
    return placement_of(
        Batch{.round_trip_before = before, .round_trip_after = after, .microseconds = {}});
  };
  EXPECT_EQ(of(90, 110), "S");
  EXPECT_EQ(of(420, 390), "D");
  EXPECT_EQ(of(90, 400), "");
  EXPECT_EQ(of(190, 210), "");
  EXPECT_EQ(of(100, 160), "");  // somebody else was there
}

TEST(Harness, MediansAreOfEnoughBatchesOfOnePlacement) {
  const ByPlacement values = {{"S", {3, 1, 2}}, {"D", {7, 9}}};
  EXPECT_EQ(median_of(values, "S", 3), 2);
  EXPECT_EQ(median_of(values, "D", 2), 8);
  EXPECT_EQ(median_of(values, "D", 3), 0);
  EXPECT_EQ(median_of({}, "S", 1), 0);
}

// A million elements on two ranks: 8 MB in, 8 MB out, 4 MB of what the other has written.
TEST(Harness, TheFloorIsTheLongestOfWhatMustBe) {
  const std::int64_t n = 1'000'000;
  const Group group = optimizers_group(n);
  const auto traffic = [&](std::size_t workload) {
    return traffic_of(group.workloads[workload], group.problem, 2);
  };
  const Traffic sum = traffic(0);
  EXPECT_EQ(sum.reads, 8 * n);
  EXPECT_EQ(sum.writes, 8 * n);
  EXPECT_EQ(sum.exchanged, 4 * n);
  const Rates rates = {.read = 8, .write = 4, .copy = 8, .exchange = 4};
  EXPECT_NEAR(floor_of(sum, rates, 100), 2000, 1e-6);  // both at the rate of a copy
  const auto with = [&](auto change) {
    Rates other = rates;
    change(other);
    return floor_of(sum, other, 100);
  };
  EXPECT_NEAR(with([](Rates& r) { r.read = 2; }), 4000, 1e-6);
  EXPECT_NEAR(with([](Rates& r) { r.write = 1; }), 8000, 1e-6);
  EXPECT_NEAR(with([](Rates& r) { r.exchange = 0.5; }), 8000, 1e-6);
  EXPECT_EQ(with([](Rates& r) { r.write = 0; }), 0);          // not known
  EXPECT_NEAR(floor_of(sum, rates, 10'000'000), 5000, 1e-6);  // one way
  // g of both; p, m, v once, or p by both.
  EXPECT_EQ(traffic(1).reads, 20 * n);
  EXPECT_EQ(traffic(2).reads, 16 * n);
  EXPECT_EQ(traffic(2).exchanged, 2 * n);
  EXPECT_EQ(traffic(1).writes, 16 * n);
  EXPECT_EQ(traffic(3).reads, 28 * n);  // LAMB: its direction, and p again
  EXPECT_EQ(traffic(3).writes, 20 * n);
  // In bf16 parts and residual, results on both; the norm's are two.
  const Group rows = rows_group(10, 100), product = products_group(10, 100, 7);
  const Traffic norm = traffic_of(rows.workloads[0], rows.problem, 2);
  EXPECT_EQ(norm.reads, 6'000);
  EXPECT_EQ(norm.writes, 8'000);
  const Traffic epilogue = traffic_of(product.workloads[1], product.problem, 2);
  EXPECT_EQ(epilogue.reads, 6'000);
  EXPECT_EQ(epilogue.writes, 4'000);
  EXPECT_EQ(epilogue.exchanged, 2'000);
}

TEST(Harness, AnotherBuildIsAFolderOfOneKindOrTheOther) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("bench-" + std::to_string(getpid()));
  const std::string path = folder.string();
  for (const std::string& wrong : {"x=" + path, path, "=" + path}) {
    try {
      other_of(wrong, "/here");
      FAIL();
    } catch (const UserError& error) {
      EXPECT_THAT(error.message(), HasSubstr("--also " + wrong + ": needed is NAME=PATH"));
    }
  }
  std::filesystem::create_directories(folder / "coconet" / "kernel");
  const Other headers = other_of("x=" + path, "/here");
  EXPECT_EQ(headers.program, "/here/coconet");
  EXPECT_THAT(headers.variables, testing::ElementsAre("COCONET_INCLUDE=" + path));
  std::filesystem::remove_all(folder / "coconet");
  std::filesystem::create_symlink("/bin/true", folder / "coconet");
  EXPECT_EQ(other_of("x=" + path, "/here").program, path + "/coconet");
  std::filesystem::remove_all(folder);
}

TEST(Harness, ARowSaysItsSizesAndWhatWasNotMeasured) {
  Row list, product;
  list.workload = "adam_list";
  list.problem = {.elements = 7, .members = {3, 4}};
  list.us = 2;
  list.floor_us = 1;
  product.workload = "matmul";
  product.problem = {.m = 2, .n = 3, .k = 4};
  product.us = 1;
  product.ranks = 4;
  product.peers = {{"a", {3, true}}};
  std::vector<Row> rows = {product, list};
  sort_rows(rows);
  const auto path =
      std::filesystem::temp_directory_path() / ("bench-" + std::to_string(getpid()) + ".json");
  write_json(path.string(), rows);
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::filesystem::remove(path);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["workload"], "adam_list");
  EXPECT_EQ(json[0]["elements"], 7);
  EXPECT_EQ(json[0]["members"], 2);
  EXPECT_EQ(json[0]["registered"], true);
  EXPECT_EQ(json[0]["fraction_of_floor"], 0.5);
  EXPECT_TRUE(json[0]["best_peer"].is_null());
  EXPECT_FALSE(json[1].contains("elements"));
  EXPECT_EQ(json[1]["m"], 2);
  EXPECT_EQ(json[1]["k"], 4);
  EXPECT_EQ(json[1]["ranks"], 4);
  EXPECT_EQ(json[1]["peers"]["a"], 3);
  EXPECT_EQ(json[1]["best_peer"], "a");
  EXPECT_EQ(json[1]["ratio_to_best_peer"], 3);
  EXPECT_TRUE(json[1]["best_default"].is_null());
  EXPECT_TRUE(json[1]["floor_us"].is_null());
}

TEST(Harness, RatiosAreToTheFastest) {
  Row row;
  row.us = 2;
  row.peers = {{"a", {5, false}}, {"b", {4, true}}, {"c", {6, false}}};
  EXPECT_EQ(row.best(false), "b");
  EXPECT_EQ(row.best(true), "a");
  EXPECT_EQ(row.ratio("b"), 2);
  EXPECT_EQ(row.ratio(""), 0);
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  const coconet::bench::Arguments arguments(argc, argv);
  if (arguments.text("by") == "library") return coconet::bench::participate_by_library(argc, argv);
  if (!arguments.text("socket").empty()) return coconet::bench::participate(arguments);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
