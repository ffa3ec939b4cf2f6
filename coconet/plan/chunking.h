// Which launches of an overlapped group run chunk by chunk.
#pragma once

#include <optional>

#include "coconet/plan/plan.h"
#include "coconet/plan/units.h"

namespace coconet::plan {

// The slice along which the chunks of an overlapped unit are cut: rows of leading dims, or (*).
// None where chunks cannot be cut so: slices of later dims, or of several axes.
std::optional<Slice> chunked_slice(const Graph& graph, const Unit& unit);

// Makes launches `first` to the plan's last one, those of the overlapped unit, a group of the plan.
// What reads no chunk comes before it. It ends before the first launch that has to see all chunks
// (block sums, their fold, reductions of the rows, storage that is written by chunks and read
// whole). Fewer than two launches are no group; they run one after the other. The plan's notes say
// which launches run whole.
void form_overlap_group(Plan& plan, const Unit& unit, int first);

// The same of launches `first` to the last that are of no overlapped unit, some of which are copies
// of the staging (plan/staging.h): a group of the copies and of what reads or writes them, along
// the slices that this one cuts, else none.
void form_staging_group(Plan& plan, int first);

}  // namespace coconet::plan
