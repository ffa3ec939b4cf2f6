#include "coconet/io/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "coconet/base/error.h"

namespace coconet {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError(ErrorKind::data, fmt::format("{}: {}", path, what));
}

[[noreturn]] void fail_with_errno(const std::string& path, const std::string& what) {
  fail(path, fmt::format("{}: {}", what, std::strerror(errno)));
}

// The file to replace: `path` with symbolic links followed, or itself if there is none yet.
fs::path target_of(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    fail(path.c_str(), "is no file name to write to");
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return path;
  if (error) fail(path, fmt::format("cannot be written: {}", error.message()));
  if (status.type() == fs::file_type::directory) {
    fail(path, "is a directory; the name of a file is needed");
  }
  if (status.type() != fs::file_type::regular) {
    fail(path, "is not a regular file; writing would replace it, so another name is needed");
  }
  const fs::path target = fs::canonical(path, error);
  if (error) fail(path, fmt::format("cannot be written: {}", error.message()));
  return target;
}

// A new file in the folder of `target`. While it is written it has no name where the file system
// allows that, so a killed process leaves nothing; else it is removed on destruction unless it was
// renamed.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, const fs::path& target)
      : path_(path), folder_(target.has_parent_path() ? target.parent_path() : fs::path(".")) {
    descriptor_ = ::open(folder_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kMode);
    if (descriptor_ >= 0 && ::access(link_of_descriptor().c_str(), F_OK) == 0) return;
    if (descriptor_ >= 0) ::close(descriptor_);
    take_name([&] {
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
      return descriptor_ >= 0;
    });
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty() && !renamed_) ::unlink(name_.c_str());
  }

  void write(std::span<const std::byte> part) {
    while (!part.empty()) {
      const ssize_t done = ::write(descriptor_, part.data(), std::min(part.size(), kMaxWrite));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail_with_errno(path_, fmt::format("writing at byte {} failed", written_));
      if (done == 0) fail(path_, fmt::format("writing at byte {} made no progress", written_));
      written_ += static_cast<std::uint64_t>(done);
      part = part.subspan(static_cast<std::size_t>(done));
    }
  }

  void rename_to(const fs::path& target) {
    if (::fsync(descriptor_) != 0) fail_with_errno(path_, "writing to the disk failed");
    const bool placed = name_.empty() && link_to(target);
    if (placed) name_ = target;
    if (name_.empty()) take_name([&] { return link_to(name_); });
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) fail_with_errno(path_, "closing the file failed");
    if (!placed && ::rename(name_.c_str(), target.c_str()) != 0) {
      fail_with_errno(path_, "the finished file cannot be renamed to its place");
    }
    renamed_ = true;
  }

 private:
  static constexpr std::size_t kMaxWrite = std::size_t{1} << 30;  // Linux writes below 2 GiB a call
  static constexpr mode_t kMode = 0666;

  // Gives the file a name that nobody has: at once the right one, where there is no file to
  // replace.
  bool link_to(const fs::path& name) const {
    return ::linkat(AT_FDCWD, link_of_descriptor().c_str(), AT_FDCWD, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
  }

  std::string link_of_descriptor() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  // Sets name_ to one that nobody has and for which `make` succeeds.
  template <class Make>
  void take_name(Make make) {
    for (int attempt = 0;; ++attempt) {
      name_ = folder_ / fmt::format(".coconet-{}-{}.tmp", ::getpid(), attempt);
      if (make()) return;
      if (errno == EEXIST && attempt < 1000) continue;
      name_.clear();
      fail_with_errno(path_,
                      fmt::format("no file can be made in the folder {:?}", folder_.string()));
    }
  }

  const std::string& path_;
  fs::path folder_;
  fs::path name_;  // "": none yet
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
  bool renamed_ = false;
};

}  // namespace

void write_file(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  const fs::path target = target_of(path);
  TemporaryFile file(path, target);
  for (const std::span<const std::byte> part : parts) file.write(part);
  file.rename_to(target);
}

void check_writable(const std::string& path) { const TemporaryFile file(path, target_of(path)); }

}  // namespace coconet
