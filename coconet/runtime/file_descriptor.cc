#include "coconet/runtime/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "coconet/base/error.h"

namespace coconet::runtime {

FileDescriptor::~FileDescriptor() { close(); }

void FileDescriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_system_error("cannot make a pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool is_own_file(const FileDescriptor& file) {
  struct stat status {};
  return fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 0 &&
         status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void throw_system_error(const std::string& what, int error) {
  throw UserError(ErrorKind::runtime, what + ": " + std::generic_category().message(error));
}

}  // namespace coconet::runtime
