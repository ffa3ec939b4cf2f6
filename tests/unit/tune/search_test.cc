// What the search reaches: the paper's schedules, by itself.
#include "coconet/tune/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "coconet/plan/cost.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/file.h"
#include "coconet/tune/graph_key.h"

namespace coconet::tune {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Lt;

struct Example {
  std::string name;
  Sizes sizes;
  std::vector<int> mesh;
  std::string schedule;  // of the file: the one that it is to find
};

double predicted(const Graph& graph, const Example& example) {
  const plan::Plan plan = plan::from_schedule(graph);
  return plan::cost_of(plan::bind(plan, example.sizes, {example.mesh}), {}).microseconds;
}

Search searched(const Example& example, const SearchOptions& options = {}) {
  const File file = read_file("examples/" + example.name + ".coco");
  return search(
      file.program(), [&](const Graph& graph) { return predicted(graph, example); }, options);
}

const Sizes kTokens = {{"B", 4}, {"S", 128}, {"H", 512}};
const SearchOptions kNoClock = {.time = std::chrono::minutes(5)};

// Its place among the candidates, the cheapest first; -1: it is none.
std::ptrdiff_t place_of(const Example& example, const Search& found) {
  const File file = read_file("examples/" + example.name + ".coco");
  const Graph wanted =
      apply(file.program(), file.schedule(file.program().header().program, example.schedule)).graph;
  const auto at = std::ranges::find_if(found.candidates, [&](const Candidate& candidate) {
    return graph_key(candidate.applied.graph) == graph_key(wanted);
  });
  return at == found.candidates.end() ? -1 : at - found.candidates.begin();
}

// A plan that does not hold is an InternalError, which ends the search.
TEST(Search, EveryGraphThatItReachesHasAPlan) {
  for (const auto& file : std::filesystem::directory_iterator("examples")) {
    if (file.path().extension() != ".coco") continue;
    const auto plan = [](const Graph& graph) {
      return static_cast<double>(plan::from_schedule(graph).launches.size());
    };
    const File example = read_file(file.path().string());
    EXPECT_NO_THROW(search(example.program(), plan, {.exhaustive = true, .most_graphs = 400}))
        << file.path();
  }
}

TEST(Search, FindsThePapersSchedulesAmongTheCheapest) {
  for (const Example& example : {Example{"sgd", {{"N", 1 << 20}}, {2}, "sharded"},
                                 Example{"adam", {{"N", 1 << 20}}, {2}, "sharded"},
                                 Example{"lamb", {{"N", 1 << 20}}, {4}, "sharded"},
                                 Example{"attention", kTokens, {2}, "overlapped"},
                                 Example{"mlp", kTokens, {2}, "overlapped"}}) {
    const Search found = searched(example, kNoClock);
    const std::ptrdiff_t place = place_of(example, found);
    EXPECT_THAT(place, AllOf(Ge(0), Lt(10))) << example.name;
    EXPECT_TRUE(found.complete) << example.name;
  }
}

// The paper's section 6.3: sums, sends and gathers at once, whichever dims slices are of.
TEST(Search, FindsTheOverlapOfThreeInAPipeline) {
  const Search found = searched({"pipeline", kTokens, {2, 2}, ""}, kNoClock);
  const auto first = found.candidates.begin();
  const auto overlaps_three = [](const Candidate& candidate) {
    return !candidate.steps.empty() && candidate.steps.back().verb == "overlap" &&
           candidate.steps.back().arguments.size() == 3;
  };
  EXPECT_TRUE(std::any_of(first, first + 10, overlaps_three));
}

TEST(Search, EveryCandidateIsAnotherGraphAndTheUnscheduledProgramIsOne) {
  const Search found = searched({"sgd", {{"N", 5000}}, {3}, ""}, kNoClock);
  std::set<std::uint64_t> keys;
  int unscheduled = 0;
  for (const Candidate& candidate : found.candidates) {
    EXPECT_TRUE(keys.insert(graph_key(candidate.applied.graph)).second);
    unscheduled += candidate.steps.empty() ? 1 : 0;
  }
  EXPECT_EQ(unscheduled, 1);
  EXPECT_GE(found.graphs, found.candidates.size());
  EXPECT_TRUE(std::ranges::is_sorted(found.candidates, {}, &Candidate::predicted_us));
}

TEST(Search, StepsOfACandidateMakeItsGraph) {
  const Example example{"adam", {{"N", 5000}}, {2}, ""};
  const File file = read_file("examples/adam.coco");
  const Search found = searched(example, kNoClock);
  for (const Candidate& candidate : found.candidates) {
    Schedule schedule{"s", "adam", candidate.steps, {}};
    const Applied again = apply(file.program(), parse_schedule(text_of(schedule)));
    EXPECT_EQ(again.graph, candidate.applied.graph) << text_of(schedule);
  }
}

TEST(Search, ReassociationMustBeAllowed) {
  const std::string text =
      "mesh world(dp)\ndim N\nprogram step(g: f32[N] local, p: f32[N]) {\n"
      "  total = all_reduce(g, +)\n  size = norm(total)\n  q = p + total / size\n  return q\n}\n";
  const Graph graph = parse_program(text);
  const auto price = [](const Graph&) { return 1.0; };
  const auto inexact = [&](bool allowed) {
    SearchOptions options = kNoClock;
    options.allow_reassociation = allowed;
    const Search found = search(graph, price, options);
    return std::ranges::count(
        found.candidates, Exactness::reassociates,
        [](const Candidate& candidate) { return candidate.applied.exactness; });
  };
  EXPECT_EQ(inexact(false), 0);
  EXPECT_GT(inexact(true), 0);
}

TEST(Search, StopsWhenItsTimeIsOver) {
  const Search found =
      searched({"lamb", {{"N", 5000}}, {2}, ""}, {.time = std::chrono::milliseconds(0)});
  EXPECT_FALSE(found.complete);
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_TRUE(found.candidates[0].steps.empty());
}

TEST(Search, WithTooManyGraphsTheCheapestAreFollowedToTheirEnd) {
  const Example example{"attention", kTokens, {2}, "overlapped"};
  const Search found = searched(example, {.exhaustive = true, .most_graphs = 200});
  EXPECT_FALSE(found.complete);
  EXPECT_LE(found.graphs, 201u);
  const auto overlaps = [](const Candidate& candidate) {
    return !candidate.steps.empty() && candidate.steps.back().verb == "overlap";
  };
  EXPECT_GT(std::ranges::count_if(found.candidates, overlaps), 10);
}

TEST(Search, ExhaustiveFollowsWhatIsNotTheCheapestToo) {
  const Example example{"attention", kTokens, {2}, ""};
  const Search all = searched(example, {.exhaustive = true});
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.pruned, 0u);
  std::set<std::uint64_t> keys;
  for (const Candidate& candidate : all.candidates) {
    keys.insert(graph_key(candidate.applied.graph));
  }
  const Search some = searched(example, kNoClock);
  EXPECT_GT(some.pruned, 0u);
  EXPECT_GT(all.candidates.size(), 2 * some.candidates.size());
  for (const Candidate& candidate : some.candidates) {
    EXPECT_TRUE(keys.contains(graph_key(candidate.applied.graph)));
  }
}

TEST(Search, ValuesOfOneDimAreCutInOneWay) {
  const auto has_slice = [](const Candidate& candidate) {
    return std::ranges::any_of(
        candidate.steps, [](const Step& step) { return without_slices(step) != text_of(step); });
  };
  for (const Candidate& candidate :
       searched({"sgd", {{"N", 5000}}, {2}, ""}, kNoClock).candidates) {
    EXPECT_FALSE(has_slice(candidate)) << text_of(candidate.steps[0]);
  }
  const Search found = searched({"attention", kTokens, {2}, ""}, kNoClock);
  EXPECT_TRUE(std::ranges::any_of(found.candidates, has_slice));
}

TEST(Search, WhatHasNoPriceIsLeftOut) {
  const Graph graph = read_file("examples/sgd.coco").program();
  const Search found = search(
      graph,
      [&](const Graph& scheduled) {
        if (scheduled != graph) throw UserError(ErrorKind::usage, "no plan");
        return 1.0;
      },
      kNoClock);
  EXPECT_EQ(found.candidates.size(), 1u);
}

}  // namespace
}  // namespace coconet::tune
