// A program of several ranks that is measured: started, given batches, stopped. While it has none
// its ranks are blocked in a read, so that the cores are another's.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace coconet::bench {

// A participant that could not be started, died, or said nothing in time.
struct ParticipantFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Program {
  std::string name;
  std::vector<std::string> command;               // the ranks get further words, name=value each
  std::map<std::string, std::string> words = {};  // of those, beyond what every participant gets
  std::vector<std::string> variables = {};        // "NAME=value", of its environment
  int ranks = 2;
  std::vector<int> cores = {};  // rank r is pinned to cores[r % cores.size()]
};

struct Batch {
  double round_trip_before = 0, round_trip_after = 0;  // nanoseconds
  double turnaround = 0;             // microseconds from one iteration to the next
  std::vector<double> microseconds;  // by iteration, of its slowest rank
  double median() const;
};

class Participant {
 public:
  explicit Participant(Program program);
  Participant(Participant&&) noexcept;
  Participant& operator=(Participant&&) = delete;
  ~Participant();

  const std::string& name() const { return program_.name; }
  int starts() const { return starts_; }  // how often it was started

  // Does nothing if it runs. Throws ParticipantFailed with the end of what it has printed, as do
  // the following, which start it.
  void start();
  Batch time(const std::string& operation, std::int64_t warm_up, std::int64_t iterations);
  // The largest difference to the expected values on any rank, after one iteration.
  double check(const std::string& operation);
  // Ends it; it may be started again.
  void stop();

 private:
  void make_page();
  void accept_ranks(int listener);
  void send(const struct Command& command);
  struct Reply receive(int rank);
  void wait_readable(int socket, int milliseconds, const std::string& what);
  [[noreturn]] void fail(const std::string& what);
  std::string printed() const;

  Program program_;
  int page_ = -1, log_ = -1;
  int process_ = -1;
  int starts_ = 0;
  std::vector<int> sockets_;  // by rank
};

}  // namespace coconet::bench
