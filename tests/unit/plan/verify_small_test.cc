// The small cases that a plan is verified on.
#include <gtest/gtest.h>

#include <algorithm>

#include "coconet/plan/from_schedule.h"
#include "coconet/plan/small_sizes.h"
#include "coconet/plan/verify.h"
#include "coconet/schedule/file.h"
#include "tests/support/planned.h"

namespace coconet {
namespace {

plan::SmallCases cases_of(const std::string& head, const std::string& program) {
  const std::string text = "mesh world(dp)\ndim N, H\ndim N_i\n" + head + "\n" + program;
  return plan::verify_small(plan::from_schedule(parse_program(text)));
}

// Sizes that requirements ask for are found.
TEST(VerifySmall, FindsSizesThatRequirementsAllow) {
  const std::string tensor =
      "program a(x: f32[N] local) {\n  y = all_reduce(x, +)\n  return y\n}\n";
  const std::string list =
      "program a(x: f32[N_i] list local) {\n  y = all_reduce(x, +)\n  return y\n}\n";
  for (const char* condition :
       {"N % 16 == 0", "N == 64", "N > 100", "N % 16 == 0 and N > 100", "N == H * 48"}) {
    EXPECT_EQ(cases_of(std::string("require ") + condition, tensor).verified, 3) << condition;
  }
  for (const char* condition : {"N_i % 2 == 0", "N_i > 0", "N_i == H", "N_i % 100 == 0"}) {
    EXPECT_EQ(cases_of(std::string("require ") + condition, list).verified, 3) << condition;
  }
  EXPECT_EQ(cases_of("require size(dp) == 8", tensor).verified, 1);
  EXPECT_EQ(cases_of("require size(dp) == 800", tensor).verified, 0);
}

// Rings are shorter than what ranks hold, alone and with peers.
TEST(VerifySmall, ReachesRings) {
  plan::Plan plan =
      planned(kAttention, kAttentionOverlapped, {{"B", 2}, {"S", 5}, {"H", 3}}, {2}).plan;
  EXPECT_EQ(plan::longest_ring(plan), 3);
  for (const MeshSizes& mesh : plan::small_meshes(plan.graph)) {
    const plan::BoundPlan bound = plan::bind(plan, plan::ring_sizes(plan), mesh, {12});
    EXPECT_TRUE(std::any_of(bound.buffers.begin(), bound.buffers.end(),
                            [](const plan::BoundBuffer& buffer) { return buffer.ring == 3; }));
  }
  plan.launches[0].waits.clear();
  EXPECT_THROW(plan::verify_small(plan), InternalError);
}

// A side of two blocks makes a matrix of four million elements: said, not tried.
TEST(VerifySmall, LeavesOutWhatIsTooLarge) {
  const auto cases = [](const std::string& matrix) {
    return cases_of("", "program a(x: f32[N] sliced(*), m: f32[" + matrix + "]) {\n" +
                            "  y = all_gather(x)\n  z = m * 2\n  return y, z\n}\n");
  };
  EXPECT_EQ(cases("N,H").verified, 6);
  EXPECT_EQ(cases("N,H").too_large, 0);
  EXPECT_EQ(cases("N,N").verified, 3);
  EXPECT_EQ(cases("N,N").too_large, 3);
}

}  // namespace
}  // namespace coconet
