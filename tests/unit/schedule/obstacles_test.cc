// What explain says of operations that no legal step fuses or moves.
#include "coconet/schedule/obstacles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coconet/schedule/file.h"

namespace coconet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const char* const kTail = R"(
mesh world(tp)
dim B, S, H
program tail(x: f32[B,S,H] sliced(2), w: f32[H,H] sliced(0), b: f32[H], r: f32[B,S,H]) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  biased = total + b
  other = b * b
  top = max(biased, [0])
  return top, other
}
)";

std::vector<std::string> after(const std::string& steps) {
  const Applied applied =
      apply(parse_program(kTail), parse_schedule("schedule s for tail {" + steps + "}"));
  return obstacles(applied, legal_steps(applied));
}

auto line(const std::string& begin, const std::string& reason) {
  return Contains(AllOf(StartsWith(begin), HasSubstr(reason)));
}

TEST(Obstacles, NameTheLaunchOfItsOwnAndTheCollectiveToSplit) {
  const std::vector<std::string> lines = after("");
  EXPECT_THAT(lines, line("`layer` cannot be fused: ", "a launch of its own"));
  EXPECT_THAT(lines, line("`total` cannot be fused: ", "split it first"));
  EXPECT_THAT(lines, line("`top` cannot be fused: ", "reduces other dims than the last one"));
  EXPECT_THAT(lines, line("`biased`, `top` cannot be moved: ", "split `total`"));
  EXPECT_THAT(lines, line("`layer`, `total` cannot be moved: ", "nothing it reads"));
  EXPECT_THAT(lines, line("`other` cannot be moved: ", "distribute `b` for one"));
  EXPECT_THAT(lines,
              line("`other` cannot be fused with another: ", "no operation reads it; alone"));
}

TEST(Obstacles, SayWhatStandsAgainstAMoveBeforeTheGather) {
  const std::vector<std::string> lines = after("rs, ag = split(total, (0))");
  EXPECT_THAT(lines, line("`top` cannot be moved: before `ag`: ", "need a new all_reduce"));
  EXPECT_THAT(lines, Not(line("`biased` cannot be moved", "")));  // it can
}

TEST(Obstacles, GroupsAreDoneWith) {
  const std::vector<std::string> lines = after(
      "rs, ag = split(total, (0)) body, gather = reorder(ag, [biased]) fuse(rs, body, gather)");
  EXPECT_THAT(lines, line("`rs`, `biased'`, `gather` cannot be fused or moved: ", "in the group"));
}

// Every operation is in a legal fuse and a legal reorder, or is said why not.
TEST(Obstacles, LeaveNoOperationOut) {
  for (const char* steps : {"", "rs, ag = split(total, (0))", "rs, ag = split(total, (1..2))",
                            "split(total, reduce_broadcast)"}) {
    const Applied applied = apply(
        parse_program(kTail), parse_schedule(std::string("schedule s for tail {") + steps + "}"));
    const std::vector<LegalStep> legal = legal_steps(applied);
    const std::vector<std::string> lines = obstacles(applied, legal);
    for (const Node& node : applied.graph.nodes()) {
      if (node.name.empty() || std::holds_alternative<Input>(node.op)) continue;
      for (const char* verb : {"fuse", "reorder"}) {
        bool said = false;
        for (const auto& [step, exactness] : legal) {
          said = said || (step.verb == verb && text_of(step).find(node.name) != std::string::npos);
        }
        const std::string done =
            verb == std::string("fuse") ? " cannot be fused" : "cannot be moved";
        for (const std::string& one : lines) {
          said = said || (one.find(done) != std::string::npos &&
                          one.find("`" + node.name + "`") != std::string::npos);
        }
        EXPECT_TRUE(said) << node.name << " " << verb << " after " << steps;
      }
    }
  }
}

}  // namespace
}  // namespace coconet
