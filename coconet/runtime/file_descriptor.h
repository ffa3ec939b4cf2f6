// Owner of one file descriptor, pipes, and the one way in which this folder reports a failed system
// call.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace coconet::runtime {

// Closes its descriptor when destroyed; -1 holds none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();
  void release() { number_ = -1; }  // somebody else closes it

 private:
  int number_ = -1;
};

struct Pipe {
  FileDescriptor reader, writer;
};

// Not inherited by other programs.
Pipe make_pipe();

// A regular file that is still where it was opened, this user's and nobody else's to write.
bool is_own_file(const FileDescriptor& file);

// Throws UserError(runtime, "<what>: <text of error>").
[[noreturn]] void throw_system_error(const std::string& what, int error = errno);

}  // namespace coconet::runtime
