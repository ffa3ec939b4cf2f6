// How far two lists order the same things alike.
#pragma once

#include <optional>
#include <vector>

namespace coconet::tune {

// Spearman's, from -1 to 1: of the ranks that values have in `a` and in `b`, of the same length;
// equal values share their mean rank. None for fewer than three, or where all of one are equal.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace coconet::tune
