#include "coconet/runtime/temporary_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "coconet/base/error.h"

namespace coconet::runtime {

namespace fs = std::filesystem;

namespace {

// Hidden and long, so that no directory of the user's has such a name: it would be removed.
constexpr std::string_view kPrefix = ".coconet-work-";

// Where a program is stopped when this process ends, its whole group gets SIGHUP. It lives as long
// as the guard does, whose output it reads.
constexpr const char* kLeader = "trap '' HUP INT QUIT TERM; read -r end";
// $1: the leader, $2: the directory. What is killed may be in the middle of making a file.
constexpr const char* kGuard =
    "trap '' HUP INT QUIT TERM; exec 2>/dev/null; read -r end; kill -s KILL -- \"-$1\"; "
    "rm -rf -- \"$2\" || { sleep 1; rm -rf -- \"$2\"; }";

std::string unique_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) throw_system_error("cannot draw");
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
  return std::string(kPrefix) + digits;
}

bool is_work_directory(const fs::path& path) {
  const std::string name = path.filename().string();
  struct stat status {};
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + 16 &&
         lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

}  // namespace

TemporaryDirectory::TemporaryDirectory(const fs::path& parent) : path_(parent / unique_name()) {
  start_guard();  // before there is anything to leave
  int error = mkdir(path_.c_str(), S_IRWXU) == 0 ? 0 : errno;
  if (error == 0) {
    content_ = FileDescriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (content_.open()) return;
    error = errno;
    rmdir(path_.c_str());
  }
  stop_guard();
  throw fs::filesystem_error("cannot make a temporary directory", parent,
                             std::error_code(error, std::generic_category()));
}

TemporaryDirectory::~TemporaryDirectory() {
  end_programs();  // none makes a file in the middle of this
  try {
    std::error_code error;
    if (!keep_) fs::remove_all(path_, error);
    if (error) remove_files();
  } catch (const std::bad_alloc&) {
    alive_.close();  // the guard does it, who has memory of his own
    return;
  }
  stop_guard();
}

// Without a new descriptor, where a process has none left to look into its directory.
void TemporaryDirectory::remove_files() {
  DIR* content = fdopendir(content_.number());
  if (content == nullptr) return;
  while (const dirent* entry = readdir(content)) unlinkat(dirfd(content), entry->d_name, 0);
  content_.release();
  closedir(content);
  rmdir(path_.c_str());
}

void TemporaryDirectory::keep() {
  keep_ = true;
  stop_guard();
}

ProcessResult TemporaryDirectory::run(const std::vector<std::string>& command) const {
  ProcessOptions options;
  options.variables = {"TMPDIR=" + fs::absolute(path_).string(), "LC_ALL=C"};
  options.group = leader_;
  return run_process(command, options);
}

void TemporaryDirectory::start_guard() {
  try {
    Pipe ours = make_pipe(), guards = make_pipe();
    const std::string path = fs::absolute(path_).string();
    leader_ = start_process({"sh", "-c", kLeader, "coconet-leader"},
                            {.input = guards.reader.number(), .group = 0});
    guard_ = start_process(
        {"sh", "-c", kGuard, "coconet-guard", std::to_string(leader_), path},
        {.input = ours.reader.number(), .output = guards.writer.number(), .group = 0});
    alive_ = std::move(ours.writer);
  } catch (const UserError&) {
    // Without a shell a killed process leaves its directory, for a day.
  }
}

void TemporaryDirectory::end_programs() {
  if (leader_ != 0) kill(-leader_, SIGKILL);
}

void TemporaryDirectory::stop_guard() {
  end_programs();
  if (guard_ != 0) kill(-guard_, SIGKILL);
  for (pid_t* process : {&guard_, &leader_}) {
    while (*process != 0 && waitpid(*process, nullptr, 0) < 0 && errno == EINTR) {
    }
    *process = 0;
  }
  alive_.close();
}

void remove_abandoned(const fs::path& parent) {
  const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!is_work_directory(entry.path())) continue;
    std::error_code gone;  // another process may remove it first
    const auto changed = fs::last_write_time(entry.path(), gone);
    if (!gone && changed < limit) fs::remove_all(entry.path(), gone);
  }
}

}  // namespace coconet::runtime
