// Random legal schedules: steps are proposed and tried.
#pragma once

#include <optional>

#include "coconet/schedule/apply.h"
#include "tests/property/random_program.h"

namespace coconet::property {

// Stands for asking for the candidates, where that fails.
inline constexpr const char* kCandidates = "candidates";

// A step that applies, and what it gives.
struct Stepped {
  Step step;
  std::optional<Applied> after;  // none: applying it is an InternalError
};
// Nothing if some tries found none.
std::optional<Stepped> random_step(Random& random, const Applied& before, int number);

}  // namespace coconet::property
