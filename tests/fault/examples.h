// Every example under every schedule, in sizes for fault tests.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace coconet::tests {

enum class Size { small, large };  // large: inputs and results of some megabytes

// One example under one schedule ("": unscheduled).
struct Scheduled {
  std::string example, schedule;
};

// The names of the examples for which there are sizes.
std::vector<std::string> sized_examples();
// All of these, as their files say.
std::vector<Scheduled> all_scheduled();

// `run` and the words for it, on a mesh of so many ranks: of several axes any that has them.
std::string run_words(const Scheduled& what, Size size, int ranks, std::mt19937& random);

}  // namespace coconet::tests
