// A rank of a participant at work: waits for commands, performs batches, answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coconet::bench {

// The arguments of every participant's program, `name=value` each (harness/participant.cc writes
// them); what a participant needs beyond has its own names.
class Arguments {
 public:
  Arguments(int argc, char** argv) : words_(argv + 1, argv + argc) {}
  std::string text(std::string_view name, const std::string& otherwise = "") const;
  std::int64_t number(std::string_view name, std::int64_t otherwise = 0) const;

 private:
  std::vector<std::string> words_;
};

class Operations {
 public:
  virtual ~Operations() = default;
  // What one iteration does. Called once a batch. Throws for a name that it does not know.
  virtual std::function<void()> operation(const std::string& name) = 0;
  // Between two iterations of it, outside of what is timed: uses the rank's own outputs and inputs
  // (use.h).
  virtual void use_buffers(const std::string& name) = 0;
  // Performs the operation once on fresh inputs, all ranks together; the largest difference of what
  // this rank then holds to what it should be, NaN counting as infinite.
  virtual double check(const std::string& name) = 0;
};

// For participants that no launcher starts: makes this process rank 0 and others the ranks after
// it, which die with it. Gives this process's rank.
int fork_ranks(int ranks);
// On rank 0, until those have ended.
void await_ranks(int rank);

// Pins this rank to the core that the arguments give it; before its memory is touched.
void pin(const Arguments& arguments, int rank);

// The exit code of a rank that does `run`; what that throws is said on stderr.
int exit_code_of(const char* program, const std::function<void()>& run);

// Until the harness says quit, or is gone.
void serve(const Arguments& arguments, int rank, Operations& operations);

// fork_ranks, then on each rank: pin, serve what `make` gives it, await_ranks.
void serve_ranks(const Arguments& arguments,
                 const std::function<std::unique_ptr<Operations>(int rank)>& make);

}  // namespace coconet::bench
