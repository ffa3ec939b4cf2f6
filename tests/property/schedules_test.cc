// Random small programs x random legal schedules x ranks x sizes: what a program gives does not
// depend on its schedule, nor on how its plan is run.
//
// COCONET_PROPERTY_CASES: how many cases. COCONET_PROPERTY_SEED: the first case's seed; case i has
// seed + i, so that one case runs again alone. COCONET_PROPERTY_VERBOSE: also how many steps of
// each verb, and the cases that took the most memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <map>

#include "tests/property/property_case.h"

namespace coconet::property {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kCases = 400;
#else
constexpr std::uint64_t kCases = 2400;
#endif
constexpr std::uint64_t kSeed = 1;
constexpr int kMostFailures = 3;  // then the test stops

std::uint64_t setting_of(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

std::int64_t peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

class Schedules : public testing::TestWithParam<int> {};

constexpr int kParts = 4;  // of the cases, so that they can run side by side

TEST_P(Schedules, GiveWhatTheProgramGives) {
  const std::uint64_t cases = setting_of("COCONET_PROPERTY_CASES", kCases);
  const std::uint64_t seed = setting_of("COCONET_PROPERTY_SEED", kSeed);
  int failures = 0;
  std::uint64_t steps = 0, run = 0, chunked = 0, rings = 0, staged = 0, in_place = 0;
  std::map<std::string, int> verbs;
  const bool verbose = std::getenv("COCONET_PROPERTY_VERBOSE") != nullptr;
  std::int64_t peak = peak_mib();
  for (std::uint64_t i = GetParam(); i < cases; i += kParts) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    const Case drawn = random_case(seed + i);
    const Outcome outcome = run_case(drawn);
    ++run;
    steps += outcome.steps;
    chunked += outcome.chunked;
    rings += outcome.rings;
    staged += outcome.staged;
    in_place += outcome.in_place;
    for (const Step& step : drawn.steps) ++verbs[step.verb];
    if (verbose && peak_mib() > peak + 100) {
      peak = peak_mib();
      std::cout << "seed " << seed + i << ": peak memory " << peak << " MiB" << std::endl;
    }
    if (!outcome.failure) continue;
    const Case smallest = shrink(drawn);
    ADD_FAILURE() << *run_case(smallest).failure << "\n" << text_of(smallest);
    if (++failures == kMostFailures) break;
  }
  std::cout << run << " cases from seed " << seed << ": " << steps << " steps applied, " << chunked
            << " plans in chunks, " << rings << " with rings, " << staged
            << " with staged buffers, " << in_place << " pairs of buffers in place\n";
  if (run >= 500) {
    EXPECT_GT(rings, 0u);
  }
  if (verbose) {
    for (const auto& [verb, count] : verbs) std::cout << count << " x " << verb << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Schedules, testing::Range(0, kParts));

}  // namespace
}  // namespace coconet::property
