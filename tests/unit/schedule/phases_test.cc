// In which phase of a fused group each operation is computed.
#include "coconet/schedule/phases.h"

#include <gmock/gmock.h>

#include "tests/support/planned.h"

namespace coconet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What the plan's launch does, as it prints.
std::string launch_of(const Planned& planned, int number) {
  const std::string text = plan::print(planned.plan);
  const std::size_t begin = text.find("launch " + std::to_string(number) + " ");
  return text.substr(begin, text.find("\nlaunch ", begin + 1) - begin);
}

Planned clipped(const std::string& values) {
  return planned(
      "mesh world(dp)\ndim N\nprogram step(g: f32[N] local, p: f32[N], state m: f32[N]) {\n"
      "  total = all_reduce(g, +)\n" +
          values + "  n = norm(total)\n  p2 = update(p, p - n * half)\n  return p2\n}\n",
      "rs, ag = split(total, (*)); body, gp = reorder(ag, [half, n, p2]); fuse(rs, body, gp)",
      {{"N", 5000}}, {2});
}

// half would be stored by the first kernel and loaded by the second.
TEST(Phases, WorkOnWhatIsThereComesWhenItIsRead) {
  const Planned step = clipped("  half = 0.5 * m + p\n");
  EXPECT_THAT(launch_of(step, 0),
              AllOf(HasSubstr("load g"), Not(HasSubstr("load m")), Not(HasSubstr("load p"))));
  EXPECT_THAT(launch_of(step, 1), AllOf(HasSubstr("load m"), HasSubstr("load p")));
}

TEST(Phases, WhatIsMadeOfReceivedValuesIsMadeWhenTheyCome) {
  const Planned step = clipped("  half = total * 0.5 + m\n");
  EXPECT_THAT(launch_of(step, 0), HasSubstr("load m"));
}

// Squares of norms, one for each member, are summed from memory.
TEST(Phases, WhatIsFoldedFromMemoryIsMadeBefore) {
  Sizes sizes;
  sizes.lists["N_i"] = {1000, 70, 5};
  const Planned step = planned(
      "mesh world(dp)\ndim N_i\nprogram step(g: f32[N_i] list local) {\n"
      "  total = all_reduce(g, +)\n  norms = norm(total)\n  squares = norms * norms\n"
      "  whole = sqrt(across(squares, +))\n  scale = min(2 / whole, 1)\n  out = total * scale\n"
      "  return out\n}\n",
      "fuse(squares, whole, scale)", sizes, {2});
  EXPECT_THAT(plan::print(step.plan), HasSubstr("fold + of squares"));
}

// An earlier phase has written m by then.
TEST(Phases, WhatIsChangedMeanwhileIsReadBefore) {
  const Planned step = planned(
      "mesh world(dp)\ndim N\nprogram step(g: f32[N] local, p: f32[N], state m: f32[N]) {\n"
      "  total = all_reduce(g, +)\n  half = 0.5 * m\n  m2 = update(m, m + total)\n"
      "  n = norm(total)\n  p2 = update(p, p - n * half)\n  return p2\n}\n",
      "rs, ag = split(total, (*)); body, gm, gp = reorder(ag, [half, m2, n, p2]);"
      "fuse(rs, body, gm, gp)",
      {{"N", 5000}}, {2});
  EXPECT_THAT(launch_of(step, 0), HasSubstr("load m"));
  EXPECT_THAT(launch_of(step, 1), Not(HasSubstr("load m")));
}

}  // namespace
}  // namespace coconet
