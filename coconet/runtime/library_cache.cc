#include "coconet/runtime/library_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/runtime/content_hash.h"

namespace coconet::runtime {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".so";
// What compiling one module may take: its library, and the compiler's own files.
constexpr off_t kRoom = off_t{4} << 20;

// The end of a stored file; a loader of shared libraries ignores it.
std::string seal_of(const std::string& key, const std::string& content) {
  return "coconet2" + ContentHash().add(key).add(content).hex();
}

bool is_whole(const std::string& key, const std::string& content) {
  const std::size_t seal = seal_of("", "").size();
  if (content.size() < seal) return false;
  const std::size_t end = content.size() - seal;
  return content.substr(end) == seal_of(key, content.substr(0, end));
}

bool is_library_name(const std::string& name) {
  const std::string_view digits = "0123456789abcdef";
  return name.size() == ContentHash().hex().size() + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of(digits) == name.size() - kSuffix.size();
}

// A file or directory with a lock on it; closed if it could not be had. Opening a pipe without a
// writer does not wait. File systems without locks
// give none: there a library that is removed while it is loaded is an error of that run.
FileDescriptor open_locked(const fs::path& path, int lock, int flags = 0) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags));
  if (!file.open() || flock(file.number(), lock) == 0 || errno != EWOULDBLOCK) return file;
  return {};
}

struct Entry {
  fs::path path;
  std::uintmax_t bytes;
  std::chrono::system_clock::time_point used;
};

std::vector<Entry> entries_of(const fs::path& directory) {
  std::vector<Entry> out;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(directory, error)) {
    struct stat status {};
    if (!is_library_name(item.path().filename().string())) continue;
    if (lstat(item.path().c_str(), &status) != 0 || status.st_uid != geteuid()) continue;
    const auto bytes = static_cast<std::uintmax_t>(status.st_blocks) * 512;
    out.push_back({item.path(), bytes,
                   std::chrono::system_clock::from_time_t(status.st_mtime) +
                       std::chrono::microseconds(status.st_mtim.tv_nsec / 1000)});
  }
  return out;
}

}  // namespace

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

StoredLibrary LibraryCache::find(const std::string& key) const {
  if (directory_.empty()) return {};
  const fs::path path = path_of(key);
  auto file = std::make_shared<FileDescriptor>(open_locked(path, LOCK_SH | LOCK_NB));
  if (!file->open() || !is_own_file(*file)) return {};
  try {
    if (!is_whole(key, read_file(path))) return {};
  } catch (const UserError&) {
    return {};  // Not readable is as good as not there: the library is compiled again.
  }
  futimens(file->number(), nullptr);  // used now; a cache that cannot be written keeps its times
  return {path, file};
}

std::shared_ptr<TemporaryDirectory> LibraryCache::work_directory(std::string& note) const {
  const auto make = [](const fs::path& parent, std::string& why) {
    try {
      auto out = std::make_shared<TemporaryDirectory>(parent);
      why = lack_of_room(out->path());
      return why.empty() ? out : nullptr;
    } catch (const fs::filesystem_error& error) {
      why = error.code().message();
    }
    return std::shared_ptr<TemporaryDirectory>();
  };
  if (!directory_.empty()) {
    std::error_code error;
    fs::create_directories(directory_, error);
    remove_abandoned(directory_);
    if (auto out = make(directory_, note)) return out;
    if (error) note = error.message();
    note = "the cache \"" + directory_.string() + "\" (COCONET_CACHE) cannot be written: " + note;
  }
  std::string why;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) {
    why = error.message();
  } else if (auto out = make(temporary, why)) {
    return out;
  }
  throw UserError(ErrorKind::runtime,
                  "there is no place to compile in, which takes " + std::to_string(kRoom >> 20) +
                      " MiB: " + note + (note.empty() ? "" : "; ") +
                      "the temporary directory (TMPDIR) cannot be written: " + why);
}

StoredLibrary LibraryCache::store(const std::string& key, const fs::path& library,
                                  const std::shared_ptr<TemporaryDirectory>& work) const {
  write_file(library, [&] {
    std::string content = read_file(library);
    return content + seal_of(key, content);
  }());
  if (directory_.empty()) return {library, work};
  fs::permissions(library, fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec);
  auto file = std::make_shared<FileDescriptor>(open_locked(library, LOCK_SH | LOCK_NB));
  {
    // Nobody removes a library of this name while this one takes its place.
    const FileDescriptor directory = open_locked(directory_, LOCK_SH, O_DIRECTORY);
    std::error_code error;
    fs::rename(library, path_of(key), error);
    if (error) return {library, work};
  }
  shrink();
  return {path_of(key), file};
}

void LibraryCache::shrink() const {
  const FileDescriptor directory = open_locked(directory_, LOCK_EX | LOCK_NB, O_DIRECTORY);
  if (!directory.open()) return;  // somebody else does it
  std::vector<Entry> entries = entries_of(directory_);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used > b.used; });
  const auto oldest = std::chrono::system_clock::now() - limits_.unused;
  std::uintmax_t bytes = 0;
  for (const Entry& entry : entries) {
    bytes += entry.bytes;
    if (bytes <= limits_.bytes && entry.used >= oldest) continue;
    const FileDescriptor unused = open_locked(entry.path, LOCK_EX | LOCK_NB);
    if (unused.open() && unlink(entry.path.c_str()) == 0) bytes -= entry.bytes;
  }
}

std::string lack_of_room(const fs::path& directory) {
  const fs::path path = directory / "room";
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.open()) return std::strerror(errno);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file.number(), 0, kRoom);
  unlink(path.c_str());
  // File systems that cannot reserve show it later, when the compiler writes.
  return error == 0 || error == EINVAL || error == EOPNOTSUPP ? "" : std::strerror(error);
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
  if (!file) {
    throw UserError(ErrorKind::runtime,
                    "cannot write " + path.string() + ": " + std::strerror(errno));
  }
}

}  // namespace coconet::runtime
