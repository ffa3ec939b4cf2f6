#include "coconet/runtime/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "coconet/base/error.h"

namespace coconet::runtime {

namespace {

using Bytes = std::optional<std::uint64_t>;

// The number behind a word that begins a line, as in "MemAvailable:   123 kB".
Bytes number_in(const std::string& file, const std::string& word) {
  std::ifstream in(file);
  for (std::string first, rest; in >> first; std::getline(in, rest)) {
    std::uint64_t value = 0;
    if (first == word && in >> value) return value;
  }
  return std::nullopt;
}

Bytes number_of(const std::string& file) {
  std::uint64_t value = 0;
  if (std::ifstream(file) >> value) return value;
  return std::nullopt;
}

Bytes of_machine() {
  const Bytes free = number_in("/proc/meminfo", "MemAvailable:");
  if (!free) return std::nullopt;
  return (*free + number_in("/proc/meminfo", "SwapFree:").value_or(0)) * 1024;
}

// A limit of the group, less what it uses and could not give back.
Bytes of_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string group = "/sys/fs/cgroup" + line.substr(3) + "/";
    const Bytes limit = number_of(group + "memory.max");
    const Bytes used = number_of(group + "memory.current");
    if (!limit || !used) return std::nullopt;
    const std::uint64_t files = number_in(group + "memory.stat", "inactive_file").value_or(0);
    const std::uint64_t held = *used - std::min(*used, files);
    return *limit - std::min(*limit, held);
  }
  return std::nullopt;
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kGiB = 1 << 30;
  char text[40];
  std::snprintf(text, sizeof text, "%.3g GiB", static_cast<double>(bytes) / kGiB);
  return text;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  const Bytes machine = of_machine(), group = of_group();
  return machine && group ? std::min(*machine, *group) : machine ? machine : group;
}

namespace {

constexpr std::uint64_t kSmall = std::uint64_t{64} << 20;  // not worth the look

[[noreturn]] void refuse(const std::string& what, std::uint64_t bytes, const std::string& of,
                         std::uint64_t left) {
  throw UserError(ErrorKind::runtime, what + " " + size_text(bytes) + " of " + of + "; there is " +
                                          size_text(left) + " left; smaller sizes need less");
}

// What RLIMIT_AS leaves to this process, and to those that it forks.
Bytes available_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const Bytes pages = number_of("/proc/self/statm");
  if (!pages) return std::nullopt;
  const std::uint64_t used = *pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

}  // namespace

void need_memory(std::uint64_t bytes, const std::string& what) {
  if (bytes < kSmall) return;
  const Bytes available = available_memory();
  if (available && bytes > *available) refuse(what + " need", bytes, "memory", *available);
}

void need_memory(const std::vector<MemoryPart>& parts, std::uint64_t addresses) {
  std::uint64_t bytes = 0;
  std::string text;
  for (const MemoryPart& part : parts) {
    bytes += part.bytes;
    text += (text.empty() ? " (" : ", ") + part.what + " " + size_text(part.bytes);
  }
  if (bytes < kSmall) return;
  text += ") needs";
  const Bytes memory = available_memory(), room = available_addresses();
  if (memory && bytes > *memory) refuse("the run" + text, bytes, "memory", *memory);
  if (room && addresses > *room) {
    refuse("a process of the run" + text, addresses, "addresses, which ulimit -v bounds", *room);
  }
}

}  // namespace coconet::runtime
