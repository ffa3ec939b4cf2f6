// The C++ of a plan: one module (kernel/call.h) whose text a person can read, each plan line before
// its code.
#pragma once

#include <string>

#include "coconet/plan/plan.h"

namespace coconet::source::cpp {

// What a module is called: a library of its own has one, of this name.
inline constexpr const char* kModuleName = "coconet_module";

// Pure: the same plan gives the same text. `name`: of the module, a C identifier.
std::string from_plan(const plan::Plan& plan, const std::string& name = kModuleName);

}  // namespace coconet::source::cpp
