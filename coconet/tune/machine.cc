#include "coconet/tune/machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "coconet/base/error.h"
#include "coconet/io/write_file.h"
#include "coconet/runtime/cores.h"
#include "coconet/runtime/file_descriptor.h"
#include "coconet/runtime/library_cache.h"
#include "coconet/runtime/segment.h"

namespace coconet::tune {
namespace {

// Of /proc/cpuinfo: the value of the first line that begins with one of the words.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name") && !line.starts_with("CPU part")) continue;
    const std::size_t value = line.find(": ");
    if (value != line.npos) return line.substr(value + 2);
  }
  return "unknown processor";
}

// Of a regular file that this user alone can write; "": it is none. Opening does not wait.
std::string own_text(const std::filesystem::path& path) {
  constexpr std::size_t kMost = 1 << 20;
  const runtime::FileDescriptor file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.open() || !runtime::is_own_file(file)) return "";
  std::string text(kMost, '\0');
  const ssize_t count = read(file.number(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

std::string machine_text() {
  const std::size_t cores = runtime::allowed_cores().size();
  return processor() + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores") +
         (runtime::has_shared_huge_pages() ? ", huge pages in shared memory" : "");
}

nlohmann::json stored(const std::filesystem::path& file) {
  return nlohmann::json::parse(own_text(file), nullptr, false);
}

void store(const std::filesystem::path& file, const nlohmann::json& value) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  const std::string text = value.dump(2) + "\n";
  const std::array parts = {std::as_bytes(std::span(text))};
  try {
    coconet::write_file(file.string(), parts);
    std::filesystem::permissions(
        file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  } catch (const UserError&) {
    // Nobody depends on it.
  }
}

std::filesystem::path store_directory() { return runtime::LibraryCache::default_directory(); }

}  // namespace coconet::tune
