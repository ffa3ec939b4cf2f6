// "Did you mean": the name nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coconet {

// The candidate that differs from `wanted` by the fewest letters inserted, removed, replaced or
// swapped with a neighbour; "" if none is within a third of its length (at least one letter). The
// first of equals.
std::string nearest(std::string_view wanted, const std::vector<std::string>& candidates);

// "a, b, c", or "none".
std::string listed(const std::vector<std::string>& names);

// "; did you mean `total`?", or "".
std::string suggestion(std::string_view wanted, const std::vector<std::string>& candidates);

}  // namespace coconet
