#include "coconet/simulate/executor.h"

#include <algorithm>
#include <memory>

#include "coconet/base/error.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/interp/scalar.h"
#include "coconet/simulate/turn_work.h"

namespace coconet::simulate {
namespace {

using plan::BoundCall;
using plan::BufferId;
using plan::BufferRole;
using plan::Steps;

struct RankState {
  int step = 0;                    // the one it is in, or takes next
  std::vector<Steps::Need> needs;  // before it
  std::unique_ptr<TurnWork> work;  // of a turn that has begun
  std::int64_t progress = 0;       // its counter
};

class Execution {
 public:
  Execution(const std::vector<BoundCall>& calls, const std::vector<CallGiven>& given,
            const ExecutorOptions& options)
      : plan_(*calls.at(0).bound.plan),
        given_(given),
        steps_(calls),
        memory_(calls),
        scheduler_(options.policy, options.seed, calls[0].bound.mesh.ranks()),
        ranks_(calls[0].bound.mesh.ranks()),
        results_(calls.size()) {
    check(given.size() == calls.size(), "each call is given what it needs");
    for (int call = 0; call < static_cast<int>(calls.size()); ++call) {
      const interp::Setting& setting = given[call].setting;
      contexts_.push_back({calls[call].bound, setting.seed, setting.call_number, memory_, call});
      check_given(call);
      make_results(results_[call]);
    }
  }

  std::vector<interp::Result> run();

 private:
  int rank_count() const { return static_cast<int>(ranks_.size()); }
  bool at_end(int rank) const { return ranks_[rank].step == steps_.count(); }
  const Input& input_of(const plan::Buffer& buffer) const {
    return std::get<Input>(plan_.graph.node(plan_.graph.find(buffer.name)).op);
  }
  void check_given(int call) const;
  void make_results(interp::Result& result) const;
  // What `rank` has of it in a call that begins; nothing if it keeps what it has.
  std::optional<interp::Bytes> value_of(BufferId id, int call, int rank) const;
  const Steps::Need* blocked(int rank) const;
  void act(int rank);
  void enter(int rank, int call);
  void finish(int rank, int call);
  [[noreturn]] void report_deadlock() const;

  const plan::Plan& plan_;
  const std::vector<CallGiven>& given_;
  Steps steps_;
  Memory memory_;
  std::vector<Context> contexts_;  // by call
  Scheduler scheduler_;
  std::vector<RankState> ranks_;
  std::vector<interp::Result> results_;  // by call
};

void Execution::check_given(int call) const {
  const auto& [setting, inputs] = given_[call];
  for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
    const plan::Buffer& buffer = plan_.buffers[b];
    if (buffer.role == BufferRole::temporary) continue;
    if (const auto found = inputs.find(buffer.name); found != inputs.end()) {
      interp::check_pieces(buffer.type, setting, found->second, "input " + buffer.name);
      continue;
    }
    const Where& where = plan_.graph.node(plan_.graph.find(buffer.name)).where;
    if (call == 0 && !input_of(buffer).default_value) {
      throw UserError(ErrorKind::data, "input " + buffer.name + " has no value, and no default",
                      where);
    }
    if (call > 0 &&
        contexts_[call].bound.buffers[b].sizes != contexts_[call - 1].bound.buffers[b].sizes) {
      throw UserError(ErrorKind::data,
                      "input " + buffer.name + " has no value in call " + std::to_string(call) +
                          ", whose sizes are not those of the call before",
                      where);
    }
  }
}

void Execution::make_results(interp::Result& result) const {
  for (const plan::PlanOutput& output : plan_.outputs) {
    result.outputs[output.name].resize(rank_count());
  }
  for (const Node& node : plan_.graph.nodes()) {
    if (!std::holds_alternative<Update>(node.op)) continue;
    result.storage[plan_.graph.node(node.inputs[0]).name].resize(rank_count());
  }
}

std::optional<interp::Bytes> Execution::value_of(BufferId id, int call, int rank) const {
  const plan::Buffer& buffer = plan_.buffer(id);
  const auto found = given_[call].inputs.find(buffer.name);
  if (found != given_[call].inputs.end()) return found->second[rank];
  if (call > 0) return std::nullopt;
  interp::Bytes bytes(memory_.piece(call, id, rank).count() * size_of(buffer.type.dtype.kind));
  const auto value = interp::value_of(Constant{*input_of(buffer).default_value, buffer.type.dtype});
  if (!bytes.empty()) interp::store(value, bytes.data(), 0);
  return bytes;
}

void Execution::enter(int rank, int call) {
  memory_.enter(rank, call);
  for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
    if (plan_.buffers[b].role == BufferRole::temporary) continue;
    const auto value = value_of(BufferId{b}, call, rank);
    if (value) memory_.put(BufferId{b}, rank, *value);
  }
}

// The caller may do what it likes with the memory of a rank that has returned.
void Execution::finish(int rank, int call) {
  interp::Result& result = results_[call];
  for (const plan::PlanOutput& output : plan_.outputs) {
    result.outputs[output.name][rank] = memory_.take(output.buffer, rank);
  }
  for (auto& [name, pieces] : result.storage) {
    pieces[rank] = memory_.take(plan_.parameter(name), rank);
  }
  memory_.leave(rank);
}

// The first of what `rank` needs that is not so.
const Steps::Need* Execution::blocked(int rank) const {
  const RankState& state = ranks_[rank];
  if (state.work) return nullptr;
  const auto unmet = std::find_if(
      state.needs.begin(), state.needs.end(),
      [&](const Steps::Need& need) { return ranks_[need.rank].progress < need.progress; });
  return unmet == state.needs.end() ? nullptr : &*unmet;
}

void Execution::act(int rank) {
  RankState& state = ranks_[rank];
  const int call = steps_.call_of(state.step);
  if (steps_.enters(state.step)) {
    enter(rank, call);
  } else if (steps_.returns(state.step)) {
    finish(rank, call);
  } else {
    if (!state.work) state.work = work_of(contexts_[call], steps_.turn(state.step), rank);
    if (!state.work->step()) return;
    state.work.reset();
  }
  state.progress = steps_.signal(state.step).value_or(state.progress);
  if (++state.step < steps_.count()) state.needs = steps_.needs(state.step, rank);
}

void Execution::report_deadlock() const {
  std::string message;
  for (int rank = 0; rank < rank_count(); ++rank) {
    if (at_end(rank)) continue;
    message += (message.empty() ? "no rank can act: " : "; ") +
               steps_.text_of(ranks_[rank].step, rank, *blocked(rank));
  }
  throw InternalError(message);
}

std::vector<interp::Result> Execution::run() {
  for (;;) {
    std::vector<int> enabled;
    bool all_at_end = true;
    for (int rank = 0; rank < rank_count(); ++rank) {
      if (at_end(rank)) continue;
      all_at_end = false;
      if (!blocked(rank)) enabled.push_back(rank);
    }
    if (all_at_end) return std::move(results_);
    if (enabled.empty()) report_deadlock();
    act(scheduler_.pick(enabled));
  }
}

}  // namespace

std::vector<interp::Result> execute_calls(const std::vector<BoundCall>& calls,
                                          const std::vector<CallGiven>& given,
                                          const ExecutorOptions& options) {
  return Execution(calls, given, options).run();
}

std::vector<interp::Result> execute_calls(const plan::Plan& plan,
                                          const std::vector<CallGiven>& given,
                                          const ExecutorOptions& options) {
  std::vector<plan::BoundPlan> bound;
  for (const CallGiven& call : given) {
    bound.push_back(plan::bind(plan, call.setting.sizes, call.setting.mesh, options.chunks));
  }
  return execute_calls(plan::in_a_row(std::move(bound)), given, options);
}

interp::Result execute(const plan::Plan& plan, const interp::Setting& setting,
                       const std::map<std::string, interp::Pieces>& inputs,
                       const ExecutorOptions& options) {
  return std::move(execute_calls(plan, {{setting, inputs}}, options).front());
}

}  // namespace coconet::simulate
