// Several schedules of one program, of which sizes pick one: a pure function of the sizes, so ranks
// agree, and nothing is tuned when they change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/schedule/knobs.h"
#include "coconet/type/dim.h"

namespace coconet {

// Holds up to a size of a dim; without a dim, for all that is left.
struct Case {
  std::string dim;
  std::int64_t most = 0;
  std::string schedule;  // "": unscheduled
  Knobs knobs;
  Where where = {};
  friend bool operator==(const Case& a, const Case& b) {
    return a.dim == b.dim && a.most == b.most && a.schedule == b.schedule && a.knobs == b.knobs;
  }
};

struct Choice {
  std::string name;
  std::string program;      // the program it is for
  std::vector<Case> cases;  // the last has no dim
  Where where = {};
  friend bool operator==(const Choice& a, const Choice& b) {
    return a.name == b.name && a.program == b.program && a.cases == b.cases;
  }
};

// The text form, which parses back (docs/language.md).
std::string text_of(const Choice& choice);

// The first case that holds. UserError(data) if a dim has no size; of a list's dim the size is that
// of all its members together.
const Case& pick(const Choice& choice, const Sizes& sizes);

}  // namespace coconet
