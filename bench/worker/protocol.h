// What harness and ranks say to each other, over one stream socket a rank. A rank that has nothing
// to do is blocked in a read of it, so that only one participant at a time uses the cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coconet::bench {

// A rank's first message.
struct Hello {
  std::int32_t rank = 0;
};

struct Command {
  enum Kind : std::int32_t { quit, time, check };
  Kind kind = quit;
  char operation[28] = {};
  std::int64_t warm_up = 0, iterations = 0;  // of `time`
};

// The answer to `time`, followed by one double an iteration: microseconds from the common start to
// this rank's end. The answer to `check` has the difference alone.
struct Reply {
  double round_trip_before = 0, round_trip_after = 0;  // nanoseconds
  double turnaround = 0;  // microseconds from one iteration to the next
  double difference = 0;  // the largest, of a value that this rank holds to the expected one
  std::int64_t times = 0;
};

// False when the other end is gone.
bool send_all(int socket, const void* from, std::size_t bytes);
bool receive_all(int socket, void* to, std::size_t bytes);
bool connected(int socket);

// A connection to the harness, which listens at this abstract name.
int connect_to(const std::string& name);

}  // namespace coconet::bench
