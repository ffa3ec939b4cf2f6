// The C++ of a plan: one module (kernel/call.h) whose text a person can read, each plan line before
// its code.
#pragma once

#include <string>

#include "coconet/plan/plan.h"

namespace coconet::source::cpp {

// Pure: the same plan gives the same text.
std::string from_plan(const plan::Plan& plan);

}  // namespace coconet::source::cpp
