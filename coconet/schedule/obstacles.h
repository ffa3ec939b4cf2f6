// Why operations stay as they are.
#pragma once

#include <string>
#include <vector>

#include "coconet/schedule/candidates.h"

namespace coconet {

// A line for each operation that none of the `legal` next steps fuses, and one for each that none
// of them moves before a gather, with the reason: "`layer` cannot be fused: ...", "`a` cannot be
// fused with another: ...". Operations with the same reason share a line. In the order of the
// graph.
std::vector<std::string> obstacles(const Applied& applied, const std::vector<LegalStep>& legal);

}  // namespace coconet
