// How much memory there is. Without a look beforehand the kernel gives more than it has, and kills
// the process that uses it without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace coconet::runtime {

// Bytes that this machine, and the control group that this process is in, can still give; nothing
// if that is not known.
std::optional<std::uint64_t> available_memory();

// UserError(runtime) if there are not `bytes` left for `what`, such as "the inputs".
void need_memory(std::uint64_t bytes, const std::string& what);

}  // namespace coconet::runtime
