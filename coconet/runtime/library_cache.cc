#include "coconet/runtime/library_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "coconet/base/error.h"
#include "coconet/runtime/content_hash.h"

namespace coconet::runtime {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kWorkPrefix = "coconet-";

// The end of a stored file; a loader of shared libraries ignores it.
std::string seal_of(const std::string& content) {
  return "coconet1" + ContentHash().add(content).hex();
}

bool is_ours(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_whole(const std::string& content) {
  const std::size_t seal = seal_of("").size();
  if (content.size() < seal) return false;
  const std::size_t end = content.size() - seal;
  return content.substr(end) == seal_of(content.substr(0, end));
}

// What killed processes have left: their folders of a day ago.
void remove_abandoned(const fs::path& parent) {
  const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kWorkPrefix)) continue;
    std::error_code gone;  // another process may remove it first
    const auto changed = fs::last_write_time(entry.path(), gone);
    if (!gone && changed < limit) fs::remove_all(entry.path(), gone);
  }
}

}  // namespace

TemporaryDirectory::TemporaryDirectory(const fs::path& parent) {
  std::string name = (parent / (std::string(kWorkPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw fs::filesystem_error("cannot make a temporary directory", parent,
                               std::error_code(errno, std::generic_category()));
  }
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

fs::path LibraryCache::default_directory() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value != nullptr ? value : "");
  };
  if (const fs::path own = variable("COCONET_CACHE"); !own.empty()) return own;
  if (const fs::path xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg / "coconet";
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "coconet";
  return {};
}

fs::path LibraryCache::find(const std::string& key) const {
  const fs::path path = path_of(key);
  if (directory_.empty() || !is_ours(path)) return {};
  try {
    if (is_whole(read_file(path))) return path;
  } catch (const UserError&) {
    // Not readable is as good as not there: the library is compiled again.
  }
  return {};
}

std::shared_ptr<TemporaryDirectory> LibraryCache::work_directory() const {
  if (!directory_.empty()) {
    try {
      fs::create_directories(directory_);
      remove_abandoned(directory_);
      return std::make_shared<TemporaryDirectory>(directory_);
    } catch (const fs::filesystem_error&) {
      // A cache that cannot be written costs time only.
    }
  }
  try {
    return std::make_shared<TemporaryDirectory>(fs::temp_directory_path());
  } catch (const fs::filesystem_error& error) {
    throw UserError(ErrorKind::runtime,
                    "there is no place to compile in: neither the cache \"" + directory_.string() +
                        "\" (COCONET_CACHE) nor the temporary directory (TMPDIR) can be written: " +
                        error.code().message());
  }
}

fs::path LibraryCache::store(const std::string& key, const fs::path& library) const {
  write_file(library, [&] {
    std::string content = read_file(library);
    return content + seal_of(content);
  }());
  if (directory_.empty()) return library;
  fs::permissions(library, fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec);
  std::error_code error;
  fs::rename(library, path_of(key), error);
  return error ? library : path_of(key);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string out((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw UserError(ErrorKind::runtime, "cannot read " + path.string());
  return out;
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw UserError(ErrorKind::runtime, "cannot write " + path.string());
}

}  // namespace coconet::runtime
