// What may come next in a schedule.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "coconet/schedule/apply.h"

namespace coconet {

// A step that applies, and what it makes of the results.
struct LegalStep {
  Step step;
  Exactness exactness = Exactness::exact;
};
// What legal_steps may be asked for. storage: as_slice, as_rooted, dead.
enum class StepKind {
  split,
  distribute,
  reorder,
  reorder_most,  // of the most that can move, past one gather and past several together
  storage,
  fuse_communication,  // of bodies, with their collectives
  fuse_pair,           // of two operations
  fuse_computation,    // of as many computations in a row as fit one kernel
  fuse_one,            // of one operation with the unnamed ones in it
  overlap,
};

std::string text_of(const LegalStep& legal);  // "rs, ag = split(total): legal; exact"

// Legal next steps of these kinds (reorder: reorder_most too), of all if there are none, with names
// for their results, in a fixed order. All of: split (each kind and slice), distribute of what is
// read (each slice, each axis alone and all together), as_slice, as_rooted, dead. Of the steps on
// sets of operations, these: reorder before each gather of what stands between it and one value,
// and of the most that can move, past one gather and past all of its axes together; fuse of two
// operations of which one reads the other, of bodies with their collectives, of as many
// computations in a row as fit one kernel, and of one that no such fuse takes with the unnamed ones
// in it; overlap of chains of two to four groups or
// operations, with communication among them. A fuse of the same operations stands once, with the
// names that the schedule gave.
std::vector<LegalStep> legal_steps(const Applied& applied, const std::set<StepKind>& kinds = {});

// A line for each step; those that differ in their slice alone share one, of the first:
// "rs, ag = split(total): legal; exact; also split(total, SLICE) with SLICE (0), (1), (*)".
std::vector<std::string> listing(const std::vector<LegalStep>& steps);

// One line: that the step is legal, its label and what it returns; or why it is not.
std::string explain(const Applied& applied, const Step& step);

}  // namespace coconet
