// The C++ of a plan's order: ticks, waits, signals, chunks.
#pragma once

#include <map>
#include <string>

#include "coconet/plan/plan.h"
#include "coconet/source/cpp/text.h"

namespace coconet::source::cpp {

// "Status run(const Call& call, std::int64_t* ticks) { ... }"
std::string run_text(const plan::Plan& plan, Pieces& pieces);

}  // namespace coconet::source::cpp
