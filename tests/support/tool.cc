#include "tests/support/tool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "coconet/base/error.h"
#include "tests/support/files.h"
#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out{COCONET_TOOL};
  for (std::string word; in >> word;) out.push_back(word);
  const bool one_process = out.size() > 1 && out[1] == "run" && rank_kinds().size() == 1 &&
                           std::ranges::count(out, "--one-process") == 0;
  if (one_process)
    out.insert(out.begin() + 2, "--one-process");  // first: the last word may lack its value
  return out;
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& cache, int out,
                         int err, const std::function<void()>& before) {
  setpgid(0, 0);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  setenv("COCONET_CACHE", cache.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (before) before();
  execv(arguments[0], arguments.data());
  _exit(127);
}

std::string content_of(int file) {
  std::string out;
  char part[4096];
  lseek(file, 0, SEEK_SET);
  for (ssize_t count; (count = read(file, part, sizeof part)) > 0;) out.append(part, count);
  return out;
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> out;
  for (pid_t child; file >> child;) out.push_back(child);
  return out;
}

// A compiler that the tool runs has another name.
bool is_rank(pid_t process, pid_t parent) {
  const auto name = [](pid_t of) {
    std::ifstream file("/proc/" + std::to_string(of) + "/comm");
    std::string out;
    file >> out;
    return out;
  };
  return is_alive(process) && name(process) == name(parent);
}

}  // namespace

const std::string& test_cache() {
  static const std::string out = COCONET_TEST_CACHE;
  return out;
}

RunningTool::RunningTool(std::string_view words) : RunningTool(words, test_cache()) {}

RunningTool::RunningTool(std::string_view words, const std::string& cache,
                         const std::function<void()>& before)
    : start_(std::chrono::steady_clock::now()) {
  const std::vector<std::string> command = words_of(words);
  out_ = memfd_create("out", MFD_CLOEXEC);
  err_ = memfd_create("err", MFD_CLOEXEC);
  process_ = fork();
  check(out_ >= 0 && err_ >= 0 && process_ >= 0, "a child can be started");
  if (process_ == 0) become(command, cache, out_, err_, before);
}

RunningTool::~RunningTool() {
  if (process_ > 0) {
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(out_);
  close(err_);
}

std::vector<pid_t> RunningTool::ranks() const {
  std::vector<pid_t> out;
  for (pid_t child : children_of(process_)) {
    if (is_rank(child, process_)) out.push_back(child);
  }
  return out;
}

std::vector<pid_t> RunningTool::wait_for_ranks(std::size_t count) const {
  for (int i = 0; i < 12000; ++i) {  // the compiler comes first
    const std::vector<pid_t> found = ranks();
    if (found.size() >= count) {
      // Joined and in the middle of their calls.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return found;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw InternalError("the tool has started no ranks within 2 minutes");
}

ToolResult RunningTool::wait() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  ToolResult result;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = content_of(out_);
  result.err = content_of(err_);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return result;
}

ToolResult run_tool(std::string_view words) { return RunningTool(words).wait(); }

ToolResult run_tool(std::string_view words, const std::string& cache) {
  return RunningTool(words, cache).wait();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    out.push_back(entry.path().filename().string());
  }
  return out;
}

bool all_end(const std::vector<pid_t>& processes) {
  for (int i = 0; i < 100; ++i) {
    bool alive = false;
    for (pid_t process : processes) alive |= is_alive(process);
    if (!alive) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string json_at(const std::string& text, const std::string& path) {
  const ordered_json value = ordered_json::parse(text);
  const ordered_json::json_pointer at(path.empty() ? "" : "/" + path);
  if (!value.contains(at)) return "";
  const ordered_json& found = value.at(at);
  return found.is_string() ? found.get<std::string>() : found.dump();
}

std::vector<std::string> json_keys(const std::string& text, const std::string& path) {
  const ordered_json value = ordered_json::parse(text);
  std::vector<std::string> out;
  for (const auto& item :
       value.at(ordered_json::json_pointer(path.empty() ? "" : "/" + path)).items()) {
    out.push_back(item.key());
  }
  return out;
}

void expect_verified(const std::string& words) {
  const ToolResult result = run_tool(words + " --verify");
  EXPECT_EQ(result.exit_code, 0) << words << "\n" << result.err;
  EXPECT_THAT(result.out, testing::AllOf(testing::HasSubstr("bit-equal to unscheduled: yes"),
                                         testing::HasSubstr("within bound: yes"),
                                         testing::Not(testing::HasSubstr(": no"))))
      << words;
}

void expect_verified(const std::string& program, const std::string& options) {
  const test::TemporaryFolder folder;
  test::write_text(folder.path("it.coco"), program);
  SCOPED_TRACE(program);
  expect_verified("run " + folder.path("it.coco") + " " + options);
}

}  // namespace coconet::tests
