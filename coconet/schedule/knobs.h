// Arguments of a call that change how a plan is performed and no bit of its results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coconet {

struct Knobs {
  static constexpr int kMostThreads = 1024;
  std::vector<std::int64_t> chunks;   // by overlapped group; 0 or left out: chosen by size
  std::optional<bool> one_shot = {};  // the protocol (plan/one_shot.h); none: chosen by size
  // Of a rank's threads so many work at most; 0: all. How many a rank has is the job's.
  int threads = 0;
  friend bool operator==(const Knobs&, const Knobs&) = default;
};

std::string text_of(const Knobs& knobs);  // as a choice has them: "chunks(8,2) direct threads(1)"

}  // namespace coconet
