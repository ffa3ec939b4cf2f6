// How much memory there is. Without a look beforehand the kernel gives more than it has, and kills
// the process that uses it without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coconet::runtime {

// Bytes that this machine, and the control group that this process is in, can still give; nothing
// if that is not known.
std::optional<std::uint64_t> available_memory();

// UserError(runtime) if there are not `bytes` left for `what`, such as "the inputs".
void need_memory(std::uint64_t bytes, const std::string& what);

struct MemoryPart {
  std::string what;  // such as "the inputs"
  std::uint64_t bytes;
};
// UserError(runtime) that names the parts if there is not enough for all of them, in whatever
// process, or if this process may not have `addresses` bytes more (RLIMIT_AS, `ulimit -v`).
void need_memory(const std::vector<MemoryPart>& parts, std::uint64_t addresses);

}  // namespace coconet::runtime
