#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace coconet::cli {

namespace {

constexpr std::chrono::seconds kBetweenLines(20);

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && !(kind && std::string_view(kind) == "dumb");
}

}  // namespace

Progress::Progress(bool wanted, bool lines)
    : shown_(wanted && is_terminal()), lines_(wanted && lines && !shown_) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(const std::string& what, double done) const {
  const auto now = std::chrono::steady_clock::now();
  if (lines_ && now - last_ > kBetweenLines) {
    std::fprintf(stderr, "coconet: %s, %.0f %%\n", what.c_str(), 100 * done);
    last_ = now;
  }
  if (!shown_) return;
  constexpr int kWidth = 30;
  const int full = std::clamp(static_cast<int>(done * kWidth), 0, kWidth);
  std::fprintf(stderr, "\r\033[K[%s%s] %s", std::string(full, '#').c_str(),
               std::string(kWidth - full, ' ').c_str(), what.c_str());
}

}  // namespace coconet::cli
