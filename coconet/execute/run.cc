#include "coconet/execute/run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <optional>

#include "coconet/execute/bindings.h"
#include "coconet/execute/given.h"
#include "coconet/execute/list_tables.h"
#include "coconet/execute/memory_need.h"
#include "coconet/execute/shared_results.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/plan/bind.h"
#include "coconet/plan/one_shot.h"
#include "coconet/runtime/buffers.h"
#include "coconet/runtime/cores.h"
#include "coconet/runtime/memory.h"
#include "coconet/runtime/module.h"

namespace coconet::execute {
namespace {

using interp::Pieces;
using plan::Buffer;
using plan::BufferRole;

// What a rank gives with its entry: of more it is quicker to wait and to read
// (docs/performance.md).
constexpr std::size_t kMostExchangedBytes = 512;

// One run of a plan: what is the same for all ranks.
class Job {
 public:
  // `complete`: every input without a default is given.
  Job(const Compiled& compiled, const RunRequest& request, bool complete)
      : compiled_(compiled),
        request_(request),
        bound_(plan::bind(compiled.plan(), request.setting.sizes, request.setting.mesh,
                          request.chunks)),
        module_(compiled.library().path, compiled.plan_hash()),
        ranks_(request.setting.mesh.ranks()),
        lists_(compiled.plan(), request.setting.sizes),
        slots_(slots_of(bound_)),
        returned_(returned_of(compiled.plan())) {
    plan::check_chunks(compiled.plan(), request.chunks);
    find_inputs(complete);
    dims_ = dims_of(compiled.plan().graph, request.setting.sizes);
    choose_small();
  }

  RunResult run() {
    need_memory(SharedResults::bytes(bound_, returned_, request_.repeat) +
                caller_bytes(bound_) * ranks_);
    results_.emplace(bound_, returned_, request_.repeat);
    launch([this](Rank& rank) { make_calls(rank); });
    return results_->collect();
  }

  void run(const std::function<void(RankCalls&)>& function) {
    need_memory(0);
    launch([&](Rank& rank) {
      rank.place_inputs();
      runtime::call_foreign("the function of rank " + std::to_string(rank.rank()),
                            [&] { function(rank); });
    });
  }

 private:
  // What one rank has of a job, from its start to its end.
  class Rank : public RankCalls {
   public:
    Rank(const Job& job, runtime::Communicator& communicator)
        : job_(job),
          communicator_(communicator),
          buffers_(communicator, job.slots_),
          bindings_(job.bound_, communicator.rank()),
          given_(job.plan()) {
      for (const auto& [buffer, pieces] : job.inputs_) given_.give(buffer);
      communicator.describe_launches([&job](int launch) { return job.launch_text(launch); });
      for (const Buffer& buffer : job.plan().buffers) {
        const auto slot =
            buffers_.addresses().subspan(std::size_t(buffer.slot) * job.ranks_, job.ranks_);
        addresses_.insert(addresses_.end(), slot.begin(), slot.end());
        if (buffer.of_caller) *(addresses_.end() - job.ranks_ + rank()) = nullptr;
      }
      constant_.resize(job.plan().buffers.size());
      arguments_ = {.mesh_sizes = job.request_.setting.mesh.sizes,
                    .dims = job.dims_,
                    .lists = job.lists_.tables(),
                    .knobs = job.bound_.knobs,
                    .seed = job.request_.setting.seed,
                    .inputs_hash = 0,
                    .address = addresses_,
                    .constant = constant_,
                    .one_shot = job.one_shot_};
      if (job.exchanged_) exchange_inputs();
    }

    int rank() const override { return communicator_.rank(); }
    void barrier(const std::string& name) { communicator_.barrier(name); }

    void place_inputs() override {
      for (int b = 0; b < static_cast<int>(constant_.size()); ++b) set_constant(b, 0);
      job_.fill(*this);
    }

    // Before the first call: what it needs is there, and the same where it must be.
    void check_inputs() {
      if (!first_) return;
      bindings_.check();
      given_.check(rank());
      if (!job_.request_.check_inputs || arguments_.inputs_hash != 0) return;
      arguments_.inputs_hash =
          hash_of_replicated(job_.plan(), [this](int buffer) { return place(buffer); });
    }

    void bind(const std::string& name, std::span<std::byte> memory) override {
      need_callers_memory(name, memory);
      const int buffer = bindings_.bind(name, memory);
      given_.give(buffer);
      set_constant(buffer, 0);
      addresses_[std::size_t(buffer) * job_.ranks_ + rank()] = memory.data();
    }

    void hold_constant(const std::string& name) override {
      static std::atomic<std::uint64_t> latest{0};
      set_constant(job_.find_constant(name), kernel::MatmulCall::kConstant | ++latest);
    }

    std::size_t bytes(const std::string& name) const override {
      return job_.held_bytes(job_.find_buffer(name), communicator_.rank());
    }

    // Memory of this rank's own for all that is staged: at no better address than dtypes need.
    void bind_all() {
      for (const std::string& name : bindings_.names()) {
        if (has_place(bindings_.buffer(name))) continue;  // another name of it
        const std::size_t shift = bindings_.alignment(name);
        std::vector<std::byte>& memory = memory_.emplace_back(shift + bindings_.bytes(name));
        bind(name, std::span(memory).subspan(shift));
      }
    }

    bool has_place(int buffer) const {
      return addresses_[std::size_t(buffer) * job_.ranks_ + communicator_.rank()] != nullptr;
    }
    // This rank's piece of the buffer.
    std::span<std::byte> place(int buffer) const {
      if (bindings_.has(buffer)) return bindings_.memory(buffer);
      const std::size_t bytes = job_.held_bytes(buffer, communicator_.rank());
      return buffers_.own(job_.plan().buffers[buffer].slot).first(bytes);
    }

    void call() override {
      check_inputs();
      bindings_.check();
      runtime::run_call(communicator_, job_.module_.module(), arguments_);
      arguments_.inputs_hash = 0;
      first_ = false;
    }

    std::span<std::byte> own(const std::string& name) override {
      const int buffer = job_.find_buffer(name);
      given_.give(buffer);
      return place(buffer);
    }

    std::span<std::byte> own(const std::string& name, DTypeKind dtype) override {
      const DTypeKind found = job_.plan().buffers[job_.find_buffer(name)].type.dtype.kind;
      if (found == dtype) return own(name);
      throw UserError(ErrorKind::usage, name + " has dtype " + std::string(name_of(found)) +
                                            "; found a call for " + std::string(name_of(dtype)));
    }

   private:
    void need_callers_memory(const std::string& name, std::span<const std::byte> memory) const {
      for (const Buffer& buffer : job_.plan().buffers) {
        if (!buffer.of_caller) need_apart(name, memory, buffer.name, buffers_.own(buffer.slot));
      }
    }

    void set_constant(int buffer, std::uint64_t number) {
      constant_[std::size_t(buffer)] = number;
      bindings_.hold_constant(buffer, number != 0);
    }

    // What peers' inputs are read from are copies that come with their entries.
    void exchange_inputs() {
      std::vector<std::span<const std::byte>> given;
      for (const plan::BufferId read : job_.read_of_peers_) {
        given.push_back(place(read.index));
      }
      exchange_.emplace(job_.ranks_, std::move(given));
      for (std::size_t part = 0; part < job_.read_of_peers_.size(); ++part) {
        for (int peer = 0; peer < job_.ranks_; ++peer) {
          if (peer == rank()) continue;
          const int buffer = job_.read_of_peers_[part].index;
          addresses_[std::size_t(buffer) * job_.ranks_ + peer] = exchange_->received(peer, part);
        }
      }
      arguments_.exchange = &*exchange_;
    }

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

  void need_memory(std::uint64_t results) const {
    std::uint64_t memory = results;
    for (const runtime::BufferNeed& need : slots_) memory += need.bytes * ranks_;
    runtime::need_memory(memory, "the ranks");
  }

  void launch(const std::function<void(Rank&)>& function) const {
    runtime::LaunchOptions options;
    options.ranks = ranks_;
    options.kind = request_.kind;
    options.data_bytes = runtime::symmetric_bytes(slots_);
    options.plan_hash = compiled_.plan_hash();
    options.communicator.timeout = request_.timeout;
    options.communicator.threads = threads_of(request_);
    if (request_.thread_grain > 0) options.communicator.thread_grain = request_.thread_grain;
    options.join_timeout =
        std::min<std::chrono::milliseconds>(request_.timeout, options.join_timeout);
    runtime::run_ranks(options, [&](runtime::Communicator& communicator) {
      Rank rank(*this, communicator);
      function(rank);
    });
  }

  const plan::Plan& plan() const { return compiled_.plan(); }

  void find_inputs(bool complete) {
    const Graph& graph = plan().graph;
    interp::check_names(graph, request_.inputs);
    for (int b = 0; b < static_cast<int>(plan().buffers.size()); ++b) {
      const Buffer& buffer = plan().buffers[b];
      if (buffer.role == BufferRole::temporary) continue;
      const NodeId node = graph.find(buffer.name);
      const auto given = request_.inputs.find(buffer.name);
      if (given != request_.inputs.end()) {
        interp::check_pieces(buffer.type, request_.setting, given->second, "input " + buffer.name);
        inputs_[b] = &given->second;
      } else if (complete || std::get<Input>(graph.node(node).op).default_value) {
        inputs_[b] = &defaults_.emplace_back(
            interp::input_value(graph, node, request_.inputs, request_.setting));
      }
    }
  }

  void choose_small() {
    if (ranks_ == 1 || !request_.small.value_or(true) || !plan::allows_one_shot(plan())) return;
    read_of_peers_ = plan::exchangeable(plan());
    std::size_t bytes = 0;  // the same on all ranks
    for (const plan::BufferId read : read_of_peers_) bytes += held_bytes(read.index, 0);
    exchanged_ = !read_of_peers_.empty() && (request_.small || bytes <= kMostExchangedBytes) &&
                 runtime::Exchange::fits(ranks_, bytes, read_of_peers_.size());
    one_shot_ = exchanged_ || request_.small || plan::one_rank_does_all(bound_);
  }

  void fill(const Rank& rank) const {
    for (const auto& [b, pieces] : inputs_) {
      const interp::Bytes& piece = (*pieces)[rank.rank()];
      if (piece.empty() || !rank.has_place(b)) continue;
      std::memcpy(rank.place(b).data(), piece.data(), piece.size());
    }
  }

  std::string launch_text(int launch) const {
    if (launch < 0 || launch >= static_cast<int>(plan().launches.size())) return "the end";
    const plan::Launch& at = plan().launches[launch];
    return at.where.known() ? at.name + " at " + at.where.text() : at.name;
  }

  void make_calls(Rank& rank) const {
    rank.bind_all();
    for (int call = 0; call < request_.repeat; ++call) {
      rank.place_inputs();
      rank.check_inputs();  // not timed
      rank.barrier("inputs of call " + std::to_string(call));
      const auto begin = std::chrono::steady_clock::now();
      rank.call();
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      results_->time(call, rank.rank()) = took.count();
      if (call == 0) give_back(rank);
    }
  }

  // Of an input, state or output.
  int find_buffer(const std::string& name) const {
    std::string there;
    const std::vector<Buffer>& buffers = plan().buffers;
    for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
      if (buffers[b].role == BufferRole::temporary) continue;
      if (buffers[b].name == name) return b;
      there += (there.empty() ? "" : ", ") + buffers[b].name;
    }
    for (const Returned& returned : returned_) {
      if (returned.name == name) return returned.buffer;
      if (!returned.storage) there += (there.empty() ? "" : ", ") + returned.name;
    }
    throw UserError(ErrorKind::usage,
                    "the program has no input, state or output " + name + "; there are " + there);
  }

  // Of an input that no call writes.
  int find_constant(const std::string& name) const {
    const int buffer = find_buffer(name);
    const auto written = [&](const Returned& returned) { return returned.buffer == buffer; };
    if (plan().buffers[buffer].role == BufferRole::input &&
        std::none_of(returned_.begin(), returned_.end(), written)) {
      return buffer;
    }
    throw UserError(ErrorKind::usage, "found " + name + "; only an input that no call writes can " +
                                          "be held constant");
  }

  std::size_t held_bytes(int buffer, int rank) const {
    const TensorType& type = plan().buffers[buffer].type;
    return bound_.piece(type, rank).count() * size_of(type.dtype.kind);
  }

  void give_back(const Rank& rank) const {
    for (std::size_t r = 0; r < returned_.size(); ++r) {
      const std::span<const std::byte> value = rank.place(returned_[r].buffer);
      if (value.empty()) continue;
      std::memcpy(results_->value(r, rank.rank()).data(), value.data(), value.size());
    }
  }

  const Compiled& compiled_;
  const RunRequest& request_;
  plan::BoundPlan bound_;
  runtime::LoadedModule module_;
  int ranks_;
  ListTables lists_;
  std::vector<runtime::BufferNeed> slots_;
  std::vector<Returned> returned_;
  std::map<int, const Pieces*> inputs_;  // by buffer; the request's, or defaults
  std::list<Pieces> defaults_;
  std::vector<std::int64_t> dims_;
  std::vector<plan::BufferId> read_of_peers_;  // one-shot
  bool one_shot_ = false, exchanged_ = false;
  std::optional<SharedResults> results_;
};

}  // namespace

int threads_of(const RunRequest& request) {
  if (request.threads < 0 || request.threads > runtime::kMostThreads) {
    throw UserError(ErrorKind::usage, "a rank has from 1 to " +
                                          std::to_string(runtime::kMostThreads) +
                                          " threads, or 0, as many as have a core; found " +
                                          std::to_string(request.threads));
  }
  return request.threads > 0 ? request.threads
                             : runtime::threads_with_cores(request.setting.mesh.ranks());
}

RunResult run(const Compiled& compiled, const RunRequest& request) {
  if (request.repeat < 1) {
    throw UserError(ErrorKind::usage, "a run has at least 1 call; found a repeat of " +
                                          std::to_string(request.repeat));
  }
  return Job(compiled, request, true).run();
}

void run_on_ranks(const Compiled& compiled, const RunRequest& request,
                  const std::function<void(RankCalls&)>& function) {
  Job(compiled, request, false).run(function);
}

}  // namespace coconet::execute
