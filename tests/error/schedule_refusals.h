// Programs and the refusals of their schedules.
#pragma once

#include <string>
#include <vector>

#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "tests/refusal.h"

namespace coconet::fixture {

inline const char* const kTail = R"(
mesh world(tp)
dim B, S, H
program tail(x: f32[B,S,H] sliced(2), w: f32[H,H] sliced(0), b: f32[H], r: f32[B,S,H],
             scalar rate: f32 = 0.1) {
  layer = matmul(x, w)
  total = all_reduce(layer, +)
  drop = dropout(total + b, rate)
  out = drop + r
  return out
}
)";

inline const char* const kAdam = R"(
mesh world(dp)
dim N
program adam(g: f16[N] local, p: f32[N], state m: f32[N], scalar lr: f32 = 0.1) {
  total = all_reduce(cast(g, f32), +)
  m2 = update(m, 0.9 * m + total)
  u = m2 + 0.01 * p
  nu = norm(u)
  p2 = update(p, p - lr / nu * u)
  return p2
}
)";

// Expects the last of the steps to be refused with these words; those before it must apply.
inline void expect_step_refused(const std::string& program, const std::string& steps,
                                const std::vector<std::string>& words) {
  const Graph graph = parse_program(program);
  const Schedule schedule =
      parse_schedule("schedule s for " + graph.header().program + " {" + steps + "}");
  Applied applied = start(graph);
  for (std::size_t k = 0; k + 1 < schedule.steps.size(); ++k) {
    applied = apply(applied, schedule.steps[k]);
  }
  SCOPED_TRACE(steps);
  expect_refused([&] { apply(applied, schedule.steps.back()); }, words);
}

}  // namespace coconet::fixture
