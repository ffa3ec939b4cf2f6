// A directory for the time of one task, removed with all in it when the task is done.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "coconet/runtime/file_descriptor.h"
#include "coconet/runtime/subprocess.h"

namespace coconet::runtime {

// Removed when its object goes, and also when this process ends before that, however it ends: a
// shell, the guard, waits for the end of a pipe that this process holds open; then it kills what
// runs in the directory and removes it. What runs there is in the process group of a second shell,
// the leader, so that it can be killed without the guard, and even where it is stopped or ignores
// signals. Where the guard is killed too, remove_abandoned does that later.
class TemporaryDirectory {
 public:
  // Named <parent>/.coconet-work-<16 digits>. Throws std::filesystem::filesystem_error.
  explicit TemporaryDirectory(const std::filesystem::path& parent);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }
  void keep();

  // run_process in English, with the directory as the place of the program's own temporary files;
  // the program and what it starts end with this process.
  ProcessResult run(const std::vector<std::string>& command) const;

 private:
  void start_guard();
  void end_programs();
  void stop_guard();
  void remove_files();

  std::filesystem::path path_;
  FileDescriptor alive_;    // the guard's pipe
  FileDescriptor content_;  // the directory
  pid_t leader_ = 0;        // not waited for before the guard is: its number is not another's
  pid_t guard_ = 0;
  bool keep_ = false;
};

// Removes the directories of this kind and of this user in `parent` that nobody has changed for a
// day.
void remove_abandoned(const std::filesystem::path& parent);

}  // namespace coconet::runtime
