// The rates of this machine that the cost model takes.
#pragma once

#include <chrono>

#include "coconet/plan/cost.h"

namespace coconet::tune {

// Of `ranks` ranks that work at once: what they copy, read of each other, write to each other, how
// long a flag takes, and products of each dtype. Takes some tenths of a second. UserError(runtime)
// if the ranks cannot be started, or one is waited for longer than `timeout`.
plan::Rates measure_rates(int ranks, std::chrono::milliseconds timeout);

// The same, measured once on this machine for so many ranks and kept on disk (tune/machine.h); what
// is missing, damaged or another machine's is measured anew.
plan::Rates rates_of_machine(int ranks, std::chrono::milliseconds timeout);

}  // namespace coconet::tune
