// What tuning has decided, kept on disk.
#pragma once

#include <optional>
#include <string>

#include "coconet/tune/tune.h"

namespace coconet::tune {

struct Decision {
  Schedule schedule;  // without steps: the unscheduled program is the quickest
  Knobs knobs;
  double us = 0, unscheduled_us = 0;
  double spread = 0;  // the larger of theirs, as Trial::spread
  bool from_store = false;
  bool kept = true;  // false: it is noisy (kNoisy), and what was kept before is not
};

// The decision for this program at these sizes on this machine: the one that is kept, or, if there
// is none, it is damaged, or its schedule does not apply any more, what tune() finds, which is
// kept. The key is the program's text, sizes, mesh, threads, whether reassociation is allowed, the
// user's schedules, the machine (tune/machine.h), and the compiler, its flags and the kernels
// (runtime/toolchain.h). One process decides for all ranks that it starts; ranks that were started
// with different decisions find out when they enter their first call, as their plans' hashes
// differ.
Decision decide(const Graph& program, const execute::GlobalTensors& given,
                const interp::Setting& setting, const TuneOptions& options = {});
// Keeps what a tuning found, as decide() does: see Decision::kept.
Decision keep(const Graph& program, const interp::Setting& setting, const TuneOptions& options,
              const Tuning& tuning);

}  // namespace coconet::tune
