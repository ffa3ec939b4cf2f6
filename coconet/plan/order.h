// Derives what a plan must wait for, which buffers peers touch, and which temporaries share memory.
#pragma once

#include "coconet/plan/plan.h"

namespace coconet::plan {

// Sets Buffer::symmetric, first, last and slot. Temporaries of one size whose lifetimes do not meet
// share a slot.
void derive_memory(Plan& plan);

// Sets the lag of the launches of overlapped groups, every launch's waits, the exit waits, and
// which launches signal. Requires: derive_memory. For each pair of accesses to the same memory by
// different ranks, one of them a write, the later waits for the earlier, unless both touch only the
// piece of the rank that acts, under the same slices. Who reaches others waits for their entry at
// least; who is reached returns when they have done so for the last time.
void derive_waits(Plan& plan);

// Gives rings to the temporaries that live in one overlapped group and are touched there by rows
// alone: Buffer::ring is the least number of chunks with which no rank writes a chunk before it has
// touched, itself, the one whose place it takes; where peers touch it, one more, so that a rank may
// be ahead of them. Adds the waits for the other ranks' touching it.
// Requires: derive_waits.
void derive_rings(Plan& plan);

// Of launches of one group: a rank performs chunk c of `first` before chunk c + `chunks` of
// `second`, whatever c is.
bool is_turn_before(const Plan& plan, LaunchId first, LaunchId second, int chunks);

}  // namespace coconet::plan
