// What legal_steps lists: all of the steps on one operation, and of those on several what it says.
#include "coconet/schedule/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"

namespace coconet {
namespace {

const char* const kStep = R"(
mesh world(dp, tp)
dim N, H
program step(g: f32[N,H] local@[dp,tp], h: f32[N] local@dp, p: f32[N,H], v: f32[N],
             state m: f32[N,H], scalar lr: f32 = 0.1) {
  total = all_reduce(g, +)@[dp,tp]
  row = all_reduce(h, +)@dp
  m2 = update(m, 0.5 * m + total)
  size = norm(m2)
  p2 = update(p, p - lr * m2 / size)
  w = v + row
  top = max(p2, [1])
  return p2, w, top
}
)";

Applied after(const std::string& program, const std::string& steps) {
  return apply(parse_program(program), parse_schedule("schedule s for step {" + steps + "}"));
}

std::string without_results(Step step) {
  step.results.clear();
  return text_of(step);
}

std::set<std::string> listed(const Applied& applied) {
  std::set<std::string> out;
  for (const auto& [step, exactness] : legal_steps(applied)) {
    EXPECT_NO_THROW(apply(applied, step)) << text_of(step);
    out.insert(without_results(step));
  }
  return out;
}

using Arguments = std::vector<StepArgument>;

// No slice, every slice of up to three dims.
std::vector<Arguments> slices() {
  std::vector<Arguments> out{{}, {Slice::all()}};
  for (int first = 0; first < 3; ++first) {
    for (int last = first; last < 3; ++last) out.push_back({Slice::range(first, last)});
  }
  return out;
}

// All steps of the verb on one operation that apply, found by trying.
std::set<std::string> applying(const Applied& applied, const std::string& verb,
                               const std::vector<Arguments>& words, bool sliced) {
  std::set<std::string> out;
  for (const Node& node : applied.graph.nodes()) {
    for (const Arguments& slice : sliced ? slices() : std::vector<Arguments>{{}}) {
      for (const Arguments& word : words) {
        if (node.name.empty()) continue;
        Step step{verb, {node.name}, {}, {}};
        step.arguments.insert(step.arguments.end(), slice.begin(), slice.end());
        step.arguments.insert(step.arguments.end(), word.begin(), word.end());
        try {
          apply(applied, step);
          out.insert(text_of(step));
        } catch (const UserError&) {
        }
      }
    }
  }
  return out;
}

std::set<std::string> of_verb(const std::set<std::string>& steps, const std::string& verb) {
  std::set<std::string> out;
  for (const std::string& step : steps) {
    if (step.starts_with(verb + "(")) out.insert(step);
  }
  return out;
}

TEST(LegalSteps, HasEveryStepOnOneOperation) {
  const std::vector<Arguments> none{{}};
  const std::string moved = "rs, ag = split(total, (*)) body, gm, gp = reorder(ag, [m2, size, p2])";
  for (const std::string& steps :
       {std::string(), std::string("rs, ag = split(total)"), moved, moved + " as_slice(m)"}) {
    const Applied applied = after(kStep, steps);
    const std::set<std::string> found = listed(applied);
    EXPECT_EQ(of_verb(found, "split"),
              applying(applied, "split", {{}, {"reduce_broadcast"}, {"hierarchical"}}, true));
    EXPECT_EQ(of_verb(found, "as_slice"), applying(applied, "as_slice", none, false));
    EXPECT_EQ(of_verb(found, "as_rooted"), applying(applied, "as_rooted", none, false));
    EXPECT_EQ(of_verb(found, "dead"), applying(applied, "dead", none, false));
    // With the axes named.
    EXPECT_EQ(of_verb(found, "distribute"),
              applying(applied, "distribute", {{"dp"}, {"tp"}, {"dp", "tp"}}, true));
  }
}

TEST(LegalSteps, HasAVectorsRowsAndInputs) {
  const std::set<std::string> found = listed(after(kStep, ""));
  for (const char* step :
       {"split(row, (0))", "split(row, reduce_broadcast)", "split(total, (1))",
        "split(total, (0), hierarchical)", "distribute(p, (0), tp)", "distribute(v, dp)",
        "distribute(v, (0), dp, tp)", "distribute(p2, tp)"}) {
    EXPECT_TRUE(found.contains(step)) << step;
  }
}

TEST(LegalSteps, MovesPartsOfWhatFollowsAGatherOrABroadcast) {
  const std::set<std::string> gathered = listed(after(kStep, "rs, ag = split(total, (*))"));
  for (const char* step : {"reorder(ag, [m2])", "reorder(ag, [m2, size])",
                           "reorder(ag, [m2, size, p2])", "reorder(ag, [m2, p2])"}) {
    // The last one is open: its path through size leaves it.
    EXPECT_EQ(gathered.contains(step), std::string(step) != "reorder(ag, [m2, p2])") << step;
  }
  const std::set<std::string> rooted =
      listed(after(kStep, "r, whole = split(row, reduce_broadcast)"));
  EXPECT_TRUE(rooted.contains("reorder(whole, [w])"));
}

TEST(LegalSteps, MovesPastSeveralGathersTogether) {
  const char* const two = R"(
mesh world(tp)
dim N
program step(g: f32[N] local, h: f32[N] local) {
  a = all_reduce(g, +)
  b = all_reduce(h, +)
  out = a * b
  return out
}
)";
  const std::string both = "ra, ga = split(a, (*)) rb, gb = split(b, (*))";
  EXPECT_TRUE(listed(after(two, both)).contains("reorder([ga, gb], [out])"));
}

// `y * g + 1` is three launches, a + 1 one; what a pair takes is not listed alone as well.
TEST(LegalSteps, FusesOneOperationWithItsUnnamedParts) {
  const char* const one = R"(
mesh world(tp)
dim N
program step(g: f32[N], y: f32[N]) {
  a = exp(g) * y + 1
  b = y + 1
  c = y * g + 1
  d = c * 2
  return a, b, d
}
)";
  const Applied applied = after(one, "");
  const std::set<std::string> found = of_verb(listed(applied), "fuse");
  EXPECT_TRUE(found.contains("fuse(a, b, c, d)"));
  const std::string last = "kernel = fuse(b, c, d)";
  const std::set<std::string> rest = of_verb(listed(after(one, last)), "fuse");
  EXPECT_EQ(rest, (std::set<std::string>{"fuse(a)"}));
  EXPECT_EQ(listed(after(one, last + " again = fuse(a)")).count("fuse(a)"), 0U);
}

TEST(LegalSteps, FusesPairsAndOverlapsChains) {
  const char* const chain = R"(
mesh world(tp)
dim N
program step(g: f32[N] local, y: f32[N] local) {
  a = g * y
  total = all_reduce(a, +)
  out = total * 2
  return out
}
)";
  const std::string moved = "rs, ag = split(total, (*)) body, gather = reorder(ag, [out])";
  const std::set<std::string> found = listed(after(chain, moved));
  for (const char* step :
       {"fuse(a, rs)", "fuse(rs, body)", "fuse(body, gather)", "fuse(rs, body, gather)",
        "overlap(a, rs)", "overlap(rs, out', gather)", "overlap(a, rs, out', gather)"}) {
    EXPECT_TRUE(found.contains(step)) << step;
  }
}

void expect_no_step_twice(const Applied& applied) {
  std::map<std::string, std::string> made;  // the graph, by which step
  for (LegalStep legal : legal_steps(applied)) {
    // A slice that is left out is one of those that may be written.
    if (legal.step.verb == "split" || legal.step.verb == "distribute") continue;
    legal.step.results.clear();
    const auto [same, is_new] =
        made.insert({print(apply(applied, legal.step).graph), text_of(legal.step)});
    EXPECT_TRUE(is_new) << text_of(legal.step) << " and " << same->second;
  }
}

// Before each step of the examples' schedules.
TEST(LegalSteps, HasNoStepTwice) {
  for (const char* name : {"pipeline", "attention", "adam", "moe", "sgd"}) {
    const File file = read_file(std::string("examples/") + name + ".coco");
    for (const Schedule& schedule : file.schedules) {
      SCOPED_TRACE(name + (", " + schedule.name));
      Applied applied = start(file.program(schedule.program));
      for (const Step& step : schedule.steps) {
        expect_no_step_twice(applied);
        applied = apply(applied, step);
      }
      expect_no_step_twice(applied);
    }
  }
}

TEST(LegalSteps, ASendIsNamedSo) {
  const char* const sent = R"(
mesh world(pp)
dim N
program step(x: f32[N] local) {
  y = x * 2
  out = shift(y, pp, 1)
  return out
}
)";
  EXPECT_THAT(listing(legal_steps(after(sent, ""))),
              testing::ElementsAre("send = fuse(y, out): legal; exact",
                                   "pipeline = overlap(y, out): legal; exact"));
}

// Every step is in one line, whole or as a slice of another.
TEST(LegalSteps, AreListedByWhatTheySlice) {
  const std::vector<LegalStep> steps = legal_steps(after(kStep, ""));
  const std::vector<std::string> lines = listing(steps);
  EXPECT_THAT(
      lines,
      testing::IsSupersetOf(
          {"rs, ag = split(row): legal; exact; also split(row, SLICE) with SLICE (0), (*)",
           "rs, ar, ag = split(total, hierarchical): legal; reassociates; also split(total, SLICE, "
           "hierarchical) with SLICE (0), (0..1), (1), (*)",
           "piece, whole = distribute(p, tp): legal; exact; also distribute(p, SLICE, tp) with "
           "SLICE (0), (0..1), (1), (*)"}));
  for (const LegalStep& legal : steps) {
    std::string others = without_results(legal.step), slice;
    for (const StepArgument& argument : legal.step.arguments) {
      if (const Slice* one = std::get_if<Slice>(&argument)) slice = one->text();
    }
    if (!slice.empty()) others.replace(others.find(slice), slice.size(), "SLICE");
    const auto shows = [&](const std::string& line) {
      if (line.starts_with(text_of(legal)) || line.ends_with(without_results(legal.step))) {
        return true;
      }
      const std::size_t at = line.find("; also " + others + " with SLICE ");
      return at != std::string::npos && (line + ",").find(" " + slice + ",", at) < line.size();
    };
    EXPECT_EQ(std::ranges::count_if(lines, shows), 1) << text_of(legal);
  }
}

TEST(LegalSteps, OneOtherSliceIsAWholeStep) {
  const LegalStep first{{"split", {"t", Slice::range(0, 0)}, {"rs", "ag"}, {}}};
  const LegalStep second{{"split", {"t", Slice::all()}, {"rs", "ag"}, {}}};
  EXPECT_THAT(listing({first, second}),
              testing::ElementsAre("rs, ag = split(t, (0)): legal; exact; also split(t, (*))"));
}

}  // namespace
}  // namespace coconet
