#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace coconet::cli {

Progress::Progress(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(const std::string& what, double done) const {
  if (!shown_) return;
  constexpr int kWidth = 30;
  const int full = std::clamp(static_cast<int>(done * kWidth), 0, kWidth);
  std::fprintf(stderr, "\r\033[K[%s%s] %s", std::string(full, '#').c_str(),
               std::string(kWidth - full, ' ').c_str(), what.c_str());
}

}  // namespace coconet::cli
