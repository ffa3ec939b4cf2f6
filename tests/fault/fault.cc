#include "tests/fault/fault.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/support/spawn.h"

namespace coconet::tests {
namespace {

using std::chrono::milliseconds;
using testing::IsEmpty;

constexpr const char* kMark = "COCONET_FAULT_MARK";

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

bool has_socket(pid_t process) {
  const std::string name = "@coconet-" + std::to_string(process) + "-";
  return test::read_text("/proc/net/unix").find(name) != std::string::npos;
}

// What is no finished library.
std::vector<std::string> rests_in(const std::string& cache) {
  std::vector<std::string> out = names_in(cache);
  std::erase_if(out, [](const std::string& name) { return name.ends_with(".so"); });
  return out;
}

// The first words of a message without its numbers.
std::string kind_of(const std::string& message) {
  std::string out = message.substr(0, std::min<std::size_t>(message.find('\n'), 70));
  std::erase_if(out, [](char c) { return c >= '0' && c <= '9'; });
  return out;
}

}  // namespace

void Fault::SetUp() {
  if (!std::ifstream("/proc/self/stat")) GTEST_SKIP() << "/proc is not mounted";
  std::filesystem::create_directories(temporary());
  setenv("TMPDIR", temporary().c_str(), 1);
  setenv(kMark, folder().c_str(), 1);
  signal(SIGINT, SIG_DFL);  // a job in a shell's background has it ignored, and the tool too
  // Another order in each test, so that few cases see many examples.
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  random_.seed(number_of("COCONET_FAULT_SEED", 1) + std::hash<std::string>()(name) % 1000003);
}

void Fault::TearDown() {
  unsetenv("TMPDIR");
  unsetenv(kMark);
  std::printf("from a fault to the end at most %.2f s; exit status, first words:\n", longest_);
  for (const auto& [words, count] : told_) std::printf("%5d x %s\n", count, words.c_str());
}

int Fault::cases(int bounded, double share) {
  const int all = number_of("COCONET_FAULT_CASES", 0);
  return all > 0 ? std::max(1, static_cast<int>(all * share)) : bounded;
}

std::size_t Fault::pick_bytes(double low, double high) {
  const double power = std::uniform_real_distribution<>(std::log(low), std::log(high))(random_);
  return static_cast<std::size_t>(std::exp(power));
}

void Fault::sleep(int low, int high) {
  std::this_thread::sleep_for(std::chrono::microseconds(pick(low, high)));
}

std::string Fault::draw(Size size) {
  if (deck_.empty()) {
    deck_ = all_scheduled();
    std::shuffle(deck_.begin(), deck_.end(), random_);
  }
  const Scheduled next = deck_.back();
  deck_.pop_back();
  ranks_ = pick(2, 8);
  return run_words(next, size, ranks_, random_);
}

std::vector<pid_t> Fault::processes() const {
  const std::string variable = std::string(kMark) + "=" + folder();
  std::vector<pid_t> out;
  for (const std::string& name : names_in("/proc")) {
    const pid_t process = std::atoi(name.c_str());
    if (process <= 0 || process == getpid()) continue;
    const std::string environment = test::read_text("/proc/" + name + "/environ");
    if (environment.find(variable) != std::string::npos) out.push_back(process);
  }
  return out;
}

std::vector<pid_t> Fault::first_ranks(const RunningTool& tool, int count) {
  for (std::vector<pid_t> before;;) {
    // Seen twice: what is about to become a compiler looks like a rank.
    const std::vector<pid_t> ranks = tool.ranks();
    if (static_cast<int>(ranks.size()) >= count && ranks == before) return ranks;
    if (!is_alive(tool.process())) return {};
    before = ranks;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}

ToolResult Fault::wait_for_end(RunningTool& tool, Clock::time_point fault, double seconds) {
  const pid_t process = tool.process();
  const ToolResult result = tool.wait();
  ++told_[std::to_string(result.exit_code) + " " + kind_of(result.err)];
  const auto age = [&] { return std::chrono::duration<double>(Clock::now() - fault).count(); };
  const auto is_left = [&] {
    return !processes().empty() || has_socket(process) || !names_in(temporary()).empty() ||
           !rests_in(cache()).empty();
  };
  while (age() < seconds && is_left()) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_THAT(processes(), IsEmpty());
  EXPECT_FALSE(has_socket(process));
  EXPECT_THAT(names_in(temporary()), IsEmpty());
  EXPECT_THAT(rests_in(cache()), IsEmpty());
  EXPECT_LT(age(), seconds);
  longest_ = std::max(longest_, age());
  return result;
}

void Fault::expect_next_run_starts() {
  const ToolResult next = run_tool("run examples/sgd.coco --ranks 3 --dim N=3001");
  EXPECT_EQ(next.exit_code, 0) << next.err;
}

std::map<int, std::string> Fault::said_by_ranks(const std::string& err) {
  // "  rank 3 stopped because ...", "  ranks 1, 3: the same"
  static const std::regex first_form("error: (rank ([0-9]+).*)");
  static const std::regex line_form("  ranks? ([0-9, ]+)(:? .*)");
  std::map<int, std::string> out;
  std::istringstream lines(err);
  std::smatch parts;
  std::string first;
  std::getline(lines, first);
  if (!std::regex_match(first, parts, first_form)) return out;
  out[std::stoi(parts[2].str())] = parts[1].str();
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, parts, line_form)) continue;
    std::istringstream numbers(parts[1].str());
    for (int rank; numbers >> rank; numbers.ignore(1, ',')) {
      out[rank] = parts[2].str() == ": the same" ? first : parts[2].str();
    }
  }
  return out;
}

void Fault::expect_survivors_tell(const std::string& err, std::optional<int> victim) const {
  const std::string number = victim ? std::to_string(*victim) : "[0-9]+";
  const std::regex named("\\branks? ([0-9]+, )*" + number + "\\b");
  static const std::regex doing("waited|waits|join|was still at work|stopped by a");
  const std::map<int, std::string> said = said_by_ranks(err);
  EXPECT_EQ(static_cast<int>(said.size()), ranks_) << err;
  for (const auto& [rank, text] : said) {
    if (rank == victim) continue;
    EXPECT_TRUE(std::regex_search(text, named) && std::regex_search(text, doing)) << err;
  }
}

}  // namespace coconet::tests
