// Our programs as participants: one compiled program, placed once and called as often as the
// harness wants. Inputs and outputs stand in the symmetric heap. The only operation is "call".
#pragma once

#include <memory>

#include "bench/worker/problem.h"
#include "coconet/execute/run.h"

namespace coconet::bench {

class Ours : public Operations {
 public:
  Ours(execute::RankCalls& calls, int ranks) : calls_(calls), ranks_(ranks) {}
  std::function<void()> operation(const std::string& name) override;
  double check(const std::string& name) override;

 protected:
  virtual void fill() = 0;
  virtual double difference() = 0;  // after one call on what fill() gave
  template <class T>
  std::span<T> own(const std::string& name) {
    const std::span<std::byte> bytes = calls_.own(name);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // One byte of each line of a cache: outputs are read, inputs written (worker/use.h).
  void use_between_calls(std::initializer_list<const char*> outputs, const char* input);

  execute::RankCalls& calls_;
  int ranks_;
};

// all_reduce; adam, lamb and the same of lists.
std::unique_ptr<Operations> our_optimizer(execute::RankCalls& calls, const std::string& program,
                                          bool half, const Problem& problem, int ranks);
std::unique_ptr<Operations> our_rows(execute::RankCalls& calls, const Problem& problem, int ranks);
// `constant`: the weights are held constant between calls.
std::unique_ptr<Operations> our_product(execute::RankCalls& calls, bool bf16, bool constant,
                                        const Problem& problem, int ranks);

}  // namespace coconet::bench
