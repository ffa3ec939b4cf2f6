// What may come next in a schedule.
#pragma once

#include <string>
#include <vector>

#include "coconet/schedule/apply.h"

namespace coconet {

// The legal next steps that are worth a try, with names for their results, in a fixed order (others
// may be legal too, such as a distribute of an input): splits by default slice, by
// each row slice, flat, and of the other kinds; distributes; reorders of each reader of a gather
// alone and of the most that can move; as_slice, as_rooted, dead; fuses of collectives with their
// bodies and of computations; overlaps of producers and consumers.
std::vector<Step> legal_steps(const Applied& applied);

// One line: that the step is legal, its label and what it returns; or why it is not.
std::string explain(const Applied& applied, const Step& step);

}  // namespace coconet
