// Some of the random cases also as generated code.
//
// COCONET_PROPERTY_COMPILED: how many cases; each is compiled once, or twice if it has products.
// COCONET_PROPERTY_SEED: as in schedules_test.cc.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/property/compiled_runner.h"

namespace coconet::property {
namespace {

// One in ten of schedules_test.cc's; the compiler takes a second for each, under sanitizers more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kCases = 16;
#else
constexpr std::uint64_t kCases = 200;
#endif
constexpr std::uint64_t kSeed = 100000;  // not those of schedules_test.cc
constexpr int kParts = 8;                // that can run side by side

std::uint64_t setting_of(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

class Compiled : public testing::TestWithParam<int> {};

TEST_P(Compiled, GivesWhatTheInterpreterGives) {
  const std::uint64_t cases = setting_of("COCONET_PROPERTY_COMPILED", kCases);
  const std::uint64_t seed = setting_of("COCONET_PROPERTY_SEED", kSeed);
  CompiledRunner compiled;
  const Runner runner = [&](const RunnerCall& call) { return compiled(call); };
  for (std::uint64_t i = GetParam(); i < cases; i += kParts) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    Case drawn = random_case(seed + i);
    drawn.setting.call_number = 0;  // as execute::run counts
    const Outcome outcome = run_case(drawn, runner);
    if (!outcome.failure) continue;
    const Case smallest = shrink(drawn, runner);
    ADD_FAILURE() << *run_case(smallest, runner).failure << "\n" << text_of(smallest);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Compiled, testing::Range(0, kParts));

}  // namespace
}  // namespace coconet::property
