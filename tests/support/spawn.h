// Ranks in tests: a function on 1..8 ranks, as threads and as processes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "coconet/runtime/launch.h"

namespace coconet::tests {

// Threads and processes; threads alone under the thread sanitizer, which sees one process only.
std::vector<runtime::RankKind> rank_kinds();

// Short timeouts and no pinning, as tests run beside others.
runtime::LaunchOptions test_launch(int ranks, runtime::RankKind kind);

// Runs `function` on every rank; the first failing rank's error is thrown. In processes gtest's
// expectations are not seen: use `expect`.
void spawn(int ranks, runtime::RankKind kind, const runtime::RankFunction& function);

// Throws if false, so that it fails the test from any rank.
void expect(bool holds, const std::string& what);

// The outcome of each rank, as "finished", "failed: <message>", "killed: ...", "stopped: ...".
std::vector<std::string> outcome_texts(const runtime::LaunchOptions& options,
                                       const runtime::RankFunction& function);

// Whether the process runs; one that has ended but is not reaped does not.
bool is_alive(pid_t process);

// Descriptors that this process has open, and child processes that it has not reaped.
int open_descriptors();
bool has_children();

}  // namespace coconet::tests
