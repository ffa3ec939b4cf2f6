#include "coconet/base/nearest.h"

#include <algorithm>

namespace coconet {
namespace {

constexpr std::size_t kLongest = 64;  // letters of a name worth comparing

// Edits between `a` and `b` (optimal string alignment), or more than `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view wanted, const std::vector<std::string>& candidates) {
  if (wanted.size() > kLongest) return "";
  const std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
  std::size_t best = limit + 1;
  std::string out;
  for (const std::string& candidate : candidates) {
    // A name of one letter is no misspelling of another one.
    if (candidate.size() > kLongest || (wanted.size() == 1 && candidate.size() == 1)) continue;
    const std::size_t edits = distance(wanted, candidate, limit);
    if (edits < best) {
      best = edits;
      out = candidate;
    }
  }
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

std::string suggestion(std::string_view wanted, const std::vector<std::string>& candidates) {
  const std::string name = nearest(wanted, candidates);
  return name.empty() ? "" : "; did you mean `" + name + "`?";
}

}  // namespace coconet
