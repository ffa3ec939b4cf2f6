#include "coconet/tune/rank_correlation.h"

#include <cmath>

namespace coconet::tune {

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<double> out;
    for (const double value : values) {
      double below = 0, equal = 0;
      for (const double other : values) {
        below += other < value ? 1 : 0;
        equal += other == value ? 1 : 0;
      }
      out.push_back(below + (equal - 1) / 2);
    }
    return out;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

}  // namespace coconet::tune
