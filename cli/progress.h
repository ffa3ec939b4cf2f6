// How far a command that takes seconds is: a bar on a terminal, gone at the end; else nothing.
#pragma once

#include <chrono>
#include <string>

namespace coconet::cli {

class Progress {
 public:
  // `lines`: where there is no terminal, a line now and then.
  explicit Progress(bool wanted, bool lines = false);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void show(const std::string& what, double done) const;  // 0 to 1

 private:
  bool shown_, lines_;
  mutable std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace coconet::cli
