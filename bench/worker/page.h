// Memory that the ranks of one participant share with nobody else: where they meet, and where they
// probe how far their cores are apart. The same for every participant, so that no library's own
// barrier decides what is measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace coconet::bench {

inline constexpr int kMaxRanks = 64;

// Alone on its pair of cache lines.
struct alignas(128) Flag {
  std::atomic<std::int64_t> value;
};

struct Page {
  Flag arrived[kMaxRanks];
  Flag start, ping, pong, probed;
};

// Nanoseconds of the clock that all cores share.
std::int64_t now();

// Where the ranks meet. `alive` is asked now and then while a rank waits; false ends the process.
class Gate {
 public:
  // `crowded`: ranks share cores, so whoever waits gives his away at once.
  Gate(Page* page, int rank, int ranks, bool crowded, std::function<bool()> alive);

  // Until all ranks are here.
  void meet();
  // Meets, and gives the moment, the same on every rank, at which all begin: no rank's lateness in
  // noticing that the others are here counts as the time of what follows.
  std::int64_t begin();
  // Nanoseconds of a flag's round trip between ranks 0 and 1, the median of many. The other ranks
  // sleep meanwhile.
  double round_trip();

 private:
  void wait(const std::atomic<std::int64_t>& flag, std::int64_t least) const;

  Page* page_;
  int rank_, ranks_;
  bool crowded_;
  std::function<bool()> alive_;
  std::int64_t meetings_ = 0, start_ = 0, trips_ = 0, probes_ = 0;
};

// Maps the page that `path` names (harness/participant.h makes it).
Page* map_page(const std::string& path);

}  // namespace coconet::bench
