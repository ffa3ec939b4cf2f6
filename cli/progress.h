// How far a command that takes seconds is: a bar on a terminal, gone at the end; else nothing.
#pragma once

#include <string>

namespace coconet::cli {

class Progress {
 public:
  explicit Progress(bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void show(const std::string& what, double done) const;  // 0 to 1

 private:
  bool shown_;
};

}  // namespace coconet::cli
