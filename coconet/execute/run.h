// Runs a compiled plan on ranks of this machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "coconet/execute/compiled.h"
#include "coconet/interp/interpreter.h"
#include "coconet/runtime/launch.h"
#include "coconet/schedule/knobs.h"

namespace coconet::execute {

using Inputs = std::map<std::string, interp::Pieces>;  // by name

struct RunRequest {
  interp::Setting setting;  // sizes, mesh, seed; the first call is call 0
  Inputs inputs;            // scalars with a default may be left out
  int repeat = 1;           // calls; each begins with the same inputs and states
  // one_shot: if the plan allows it, inputs exchanged if messages have room; not given: where
  // inputs are so small that this is quicker.
  Knobs knobs;
  // Threads of each rank, up to runtime::kMostThreads; 0: as many as have a core. Results do not
  // depend on it.
  int threads = 0;
  // The elements that a thread is worth, at least 1; 0: what is quicker (kernel/call.h).
  std::int64_t thread_grain = 0;
  // Compare a hash of the replicated inputs and states across ranks at call 0, as they stand in
  // memory then: some 0.1 ms a megabyte.
  bool check_inputs = true;
  runtime::RankKind kind = runtime::RankKind::process;
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

struct RunResult {
  // Of call 0, as interp::Result has them.
  std::map<std::string, interp::Pieces> outputs;
  std::map<std::string, interp::Pieces> storage;
  // microseconds[call][rank], the entry to the call and the leaving included.
  std::vector<std::vector<double>> microseconds;
};

// UserError(usage) unless from 0 to the most that a rank may have.
void need_threads(int threads);
// Of each rank of a run. UserError(usage) for a request that is not legal.
int threads_of(const RunRequest& request);

// What is staged stands in memory that each rank takes for the run. UserError(data) for inputs that
// are missing, of another size or not the program's, UserError(runtime) for a rank that died or did
// not come.
RunResult run(const Compiled& compiled, const RunRequest& request);
// `inputs` stand for the request's, which are not read.
RunResult run(const Compiled& compiled, const RunRequest& request, const Inputs& inputs);

// One rank of a started program: its calls are made by whoever holds this, as often as wanted.
class RankCalls {
 public:
  virtual ~RankCalls() = default;
  virtual int rank() const = 0;
  // Puts this rank's pieces of the request's inputs and states in place, over what calls have made
  // of them; of those that are staged, where memory has been bound. Done once before the function
  // begins.
  virtual void place_inputs() = 0;
  // The values of this input are not changed from now on, until place_inputs(), bind or
  // the next hold_constant(name), which says that they are others: what a rank makes of them for
  // itself, the packed right operand of a matmul, is kept between calls (in memory as large as the
  // input). Values that are changed and not said to be may give products of the old ones, and no
  // error. Each rank decides for itself. UserError(usage) for what the program writes, and another
  // name.
  virtual void hold_constant(const std::string& name) = 0;
  // One call, the entry and the leaving included. All ranks make the same calls.
  virtual void call() = 0;
  // Calls are numbered from 0 on; the next one has this number, the same on all ranks (call() finds
  // out). What dropouts drop follows from the seed and the number: so does a program's gradient
  // what the call dropped that it belongs to.
  virtual void count_from(std::uint64_t number) = 0;
  // The calls that follow read and write the input, state or output of that name there: memory of
  // the caller's, of exactly this rank's piece (for a list: packed, as type/list.h says), at any
  // address that its dtype may have, needed during calls only. The plan must have the name in
  // PlanOptions::staged, whether peers touch the tensor or not: which of them they touch, and what
  // is copied therefore, depends on the schedule. Before the first call each is bound; any may be
  // bound anew between calls. An output that is the new value of a state or input stands where that
  // does: either name will do. Another output may be bound to the memory of an input, in place,
  // where it is written when the input is not needed any more. UserError(usage) for what does not
  // fit, such as memory that own() gives of what is not staged: here, or in call() if memory is
  // missing or overlaps.
  virtual void bind(const std::string& name, std::span<std::byte> memory) = 0;
  // Of this rank's piece of an input, state or output. UserError(usage) for another name.
  virtual std::size_t bytes(const std::string& name) const = 0;
  // This rank's own piece of an input, state or output, where the calls read and write it; of one
  // that is staged, what has been bound. UserError(usage) for another name, or if nothing has been.
  // Their dtype is the caller's to know, or to have checked:
  virtual std::span<std::byte> own(const std::string& name) = 0;
  // UserError(usage) unless its dtype is this.
  virtual std::span<std::byte> own(const std::string& name, DTypeKind dtype) = 0;
};

// Starts the ranks and runs `function` on each, in place of `repeat` calls with results; of ranks
// that are processes in a copy of this one's memory. Inputs may be left out, for the function to
// fill in through own() before the first call, which is refused if it has asked for no memory of
// one (UserError(usage)); states begin as zeros. Another exception that leaves the function is a
// UserError(runtime) too. UserErrors as of run.
void run_on_ranks(const Compiled& compiled, const RunRequest& request,
                  const std::function<void(RankCalls&)>& function);

// Bytes that a rank of the mesh reads from or writes to its peers in one call, the largest of all
// ranks: the traffic of the plan.
std::int64_t bytes_between_ranks(const plan::Plan& plan, const interp::Setting& setting);

}  // namespace coconet::execute
