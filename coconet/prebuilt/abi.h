// Between a library that `coconet build` writes and the part of CoCoNet that is linked into it:
// plain data and functions with C linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coconet/kernel/call.h"

namespace coconet::prebuilt {

struct BuiltSchedule {
  const char* name;  // "": unscheduled
  const kernel::Module* module;
};

struct Built {
  const char* text;    // of the program, its schedules and a choice among them
  const char* choice;  // its name
  const BuiltSchedule* schedules;
  int schedule_count;
  const char* const* staged;  // names
  int staged_count;
};

// Of a job, the same on all ranks.
struct BuiltSetting {
  const std::int32_t* mesh;  // ranks on each axis
  const std::int64_t* const*
      sizes;                   // of each dim, in order of declaration; of a list's, its members'
  const std::int64_t* counts;  // how many sizes each has: 1, or a list's members
  std::uint64_t seed;
  std::int32_t threads;  // of a rank; 0: as many as have a core
  double timeout;        // seconds of one wait; 0: 1800
};

}  // namespace coconet::prebuilt

// What the functions of the library's header do. Each sets the text of coconet_built_error, of this
// thread, where it fails: by nullptr or -1.
extern "C" {
void* coconet_built_join(const coconet::prebuilt::Built* built,
                         const coconet::prebuilt::BuiltSetting* setting, const char* job,
                         std::int32_t rank);
void* coconet_built_tensor(void* rank, const char* name, std::size_t* bytes);
int coconet_built_bind(void* rank, const char* name, void* memory, std::size_t bytes);
int coconet_built_hold_constant(void* rank, const char* name);
int coconet_built_call(void* rank);
void coconet_built_leave(void* rank);
const char* coconet_built_error();
}
