// A plan made ready for the ranks of one run: what run.h and turns.h are made of.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coconet/execute/bindings.h"
#include "coconet/execute/given.h"
#include "coconet/execute/list_tables.h"
#include "coconet/execute/run.h"
#include "coconet/execute/shared_results.h"
#include "coconet/execute/symmetric_places.h"
#include "coconet/plan/bind.h"
#include "coconet/runtime/buffers.h"
#include "coconet/runtime/module.h"

namespace coconet::execute {

// What is the same for all ranks. Not longer-lived than what it is made of.
class Job {
 public:
  // `inputs` stand for the request's. `complete`: every one without a default is given.
  // `symmetric`: as JoinRequest's. UserErrors as of run().
  Job(const Compiled& compiled, const RunRequest& request, const Inputs& inputs, bool complete,
      const SymmetricPlaces& symmetric = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const plan::Plan& plan() const { return compiled_.plan(); }
  const RunRequest& request() const { return request_; }
  const Inputs& inputs() const { return given_; }
  const plan::BoundPlan& bound() const { return bound_; }
  int ranks() const { return ranks_; }
  std::span<const runtime::BufferNeed> slots() const { return slots_; }
  std::span<const Returned> returned() const { return returned_; }
  bool one_shot() const { return one_shot_; }

  // UserError(runtime) if this machine has no room for `results` bytes and the ranks' memory.
  void need_memory(std::uint64_t results) const;
  runtime::LaunchOptions launch_options() const;

 private:
  friend class JobRank;
  void find_inputs(bool complete);
  void choose_small();
  void find_symmetric(const SymmetricPlaces& places);
  void need_symmetric(const std::string& name, int buffer, const SymmetricPlace& place) const;
  std::string launch_text(int launch) const;
  int find_buffer(const std::string& name) const;    // of an input, state or output
  int find_constant(const std::string& name) const;  // of an input that no call writes
  std::size_t held_bytes(int buffer, int rank) const;

  const Compiled& compiled_;
  const RunRequest& request_;
  const Inputs& given_;
  plan::BoundPlan bound_;
  runtime::LoadedModule module_;
  int ranks_;
  ListTables lists_;
  std::vector<runtime::BufferNeed> slots_;
  std::vector<Returned> returned_;
  std::map<int, const interp::Pieces*> inputs_;  // by buffer; the request's, or defaults
  std::list<interp::Pieces> defaults_;
  std::map<int, SymmetricPlace> symmetric_;  // by buffer
  std::vector<std::int64_t> dims_;
  std::vector<plan::BufferId> read_of_peers_;  // one-shot
  bool one_shot_ = false, exchanged_ = false;
};

// What one rank has of a job, while it makes calls of it.
class JobRank : public RankCalls {
 public:
  // `memory`: of at least runtime::private_bytes(job.slots()); null for some of its own.
  JobRank(const Job& job, runtime::Communicator& communicator,
          std::shared_ptr<void> memory = nullptr);

  int rank() const override { return communicator_.rank(); }
  void place_inputs() override;
  void hold_constant(const std::string& name) override;
  void call() override;
  void count_from(std::uint64_t number) override { communicator_.count_calls_from(number); }
  void bind(const std::string& name, std::span<std::byte> memory) override;
  std::size_t bytes(const std::string& name) const override;
  std::span<std::byte> own(const std::string& name) override;
  std::span<std::byte> own(const std::string& name, DTypeKind dtype) override;

  // Memory of this rank's own for all that is staged: at no better address than dtypes need.
  void bind_all();
  // Before the first call: what it needs is there, and the same where it must be.
  void check_inputs();
  // This rank's piece of the buffer.
  std::span<std::byte> place(int buffer) const;

 private:
  bool has_place(int buffer) const;
  void need_callers_memory(const std::string& name, std::span<const std::byte> memory) const;
  void set_constant(int buffer, std::uint64_t number);
  void exchange_inputs();

  const Job& job_;
  runtime::Communicator& communicator_;
  const runtime::Buffers buffers_;
  Bindings bindings_;
  GivenInputs given_;
  std::list<std::vector<std::byte>> memory_;  // see bind_all
  std::vector<void*> addresses_;
  std::vector<std::uint64_t> constant_;  // see kernel::Call
  std::optional<runtime::Exchange> exchange_;
  runtime::CallArguments arguments_;
  bool first_ = true;
};

}  // namespace coconet::execute
