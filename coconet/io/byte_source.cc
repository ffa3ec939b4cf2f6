#include "coconet/io/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "coconet/base/error.h"

namespace coconet {
namespace {

UserError unreadable(const std::string& path, const std::string& found) {
  return UserError(ErrorKind::data, fmt::format("{}: {}", path, found));
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

void ByteSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  check(offset <= size_ && out.size() <= size_ - offset, "a read lies inside its source");
  if (!out.empty()) fill(offset, out);
}

std::string ByteSource::read_text(std::uint64_t offset, std::uint64_t length) const {
  check(offset <= size_ && length <= size_ - offset, "a read lies inside its source");
  std::string text(length, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

FileSource::Opened FileSource::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw unreadable(path.c_str(), "the path contains a zero byte; no file has such a name");
  }
  // O_NONBLOCK: opening a pipe without a writer must give the error below, not wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    throw unreadable(
        path, fmt::format("cannot be opened: {}; a readable file is needed", std::strerror(errno)));
  }
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    return {descriptor, static_cast<std::uint64_t>(status.st_size)};
  }
  const std::string found =
      known ? fmt::format("is {}; a regular file is needed", kind_of(status.st_mode))
            : fmt::format("its size is unknown: {}", std::strerror(errno));
  ::close(descriptor);
  throw unreadable(path, found);
}

FileSource::FileSource(const std::string& path) : FileSource(path, open(path)) {}

FileSource::FileSource(const std::string& path, Opened opened)
    : ByteSource(path, opened.size), descriptor_(opened.descriptor) {}

FileSource::~FileSource() { ::close(descriptor_); }

void FileSource::fill(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw unreadable(name(), fmt::format("reading at byte {} failed: {}", offset + done,
                                           std::strerror(errno)));
    }
    if (got == 0) {
      throw unreadable(name(), fmt::format("ends at byte {} although it had {} bytes when it was "
                                           "opened; it must not change while it is read",
                                           offset + done, size()));
    }
    done += static_cast<std::size_t>(got);
  }
}

MemorySource::MemorySource(std::string name, std::span<const std::byte> bytes)
    : ByteSource(std::move(name), bytes.size()), bytes_(bytes) {}

void MemorySource::fill(std::uint64_t offset, std::span<std::byte> out) const {
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

}  // namespace coconet
