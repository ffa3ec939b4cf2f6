#include "coconet/simulate/executor.h"

#include <memory>
#include <optional>

#include "coconet/base/error.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/interp/scalar.h"
#include "coconet/simulate/turn_work.h"

namespace coconet::simulate {
namespace {

struct RankState {
  std::size_t turn = 0;            // the one it is in, or performs next
  std::unique_ptr<TurnWork> work;  // of a turn that has begun
  bool returned = false;
};

class Execution {
 public:
  Execution(const plan::Plan& plan, const interp::Setting& setting, const ExecutorOptions& options)
      : plan_(plan),
        setting_(setting),
        bound_(plan::bind(plan, setting.sizes, setting.mesh, options.chunks)),
        memory_(bound_),
        context_{bound_, setting.seed, setting.call_number, memory_},
        scheduler_(options.policy, options.seed, setting.mesh.ranks()),
        ranks_(setting.mesh.ranks()) {}

  void put_inputs(const std::map<std::string, interp::Pieces>& inputs);
  interp::Result run();

 private:
  int rank_count() const { return static_cast<int>(ranks_.size()); }
  const std::vector<plan::Wait>& waits_of(const RankState& state) const;
  std::int64_t awaited_tick(const RankState& state, const plan::Wait& wait) const;
  // The first wait and rank that `rank` waits for.
  std::optional<std::pair<plan::Wait, int>> blocked(int rank) const;
  std::int64_t progress(int rank) const;
  void act(int rank);
  void finish(int rank);
  [[noreturn]] void report_deadlock() const;

  const plan::Plan& plan_;
  const interp::Setting& setting_;
  plan::BoundPlan bound_;
  Memory memory_;
  Context context_;
  Scheduler scheduler_;
  std::vector<RankState> ranks_;
  interp::Result result_;
};

void Execution::put_inputs(const std::map<std::string, interp::Pieces>& inputs) {
  for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
    const plan::Buffer& buffer = plan_.buffers[b];
    if (buffer.role == plan::BufferRole::temporary) continue;
    const Node& node = plan_.graph.node(plan_.graph.find(buffer.name));
    const auto found = inputs.find(buffer.name);
    const auto& fallback = std::get<Input>(node.op).default_value;
    if (found == inputs.end() && !fallback) {
      throw UserError(ErrorKind::data, "input " + buffer.name + " has no value, and no default",
                      node.where);
    }
    if (found != inputs.end()) {
      interp::check_pieces(buffer.type, setting_, found->second, "input " + buffer.name);
    }
    for (int rank = 0; rank < rank_count(); ++rank) {
      interp::Bytes bytes;
      if (found != inputs.end()) {
        bytes = found->second[rank];
      } else {
        bytes.resize(memory_.piece(plan::BufferId{b}, rank).count() *
                     size_of(buffer.type.dtype.kind));
        const auto value = interp::value_of(Constant{*fallback, buffer.type.dtype});
        if (!bytes.empty()) interp::store(value, bytes.data(), 0);
      }
      memory_.put(plan::BufferId{b}, rank, bytes);
    }
  }
}

const std::vector<plan::Wait>& Execution::waits_of(const RankState& state) const {
  if (state.turn == bound_.turns.size()) return plan_.exit_waits;
  return plan_.launch(bound_.turns[state.turn].launch).waits;
}

std::int64_t Execution::awaited_tick(const RankState& state, const plan::Wait& wait) const {
  if (!wait.same_chunk) return bound_.last_tick(wait.on);
  check(state.turn < bound_.turns.size(), "a rank returns after whole launches");
  return bound_.tick(wait.on, bound_.turns[state.turn].chunk);
}

// Ticks without work are passed at once.
std::int64_t Execution::progress(int rank) const {
  const RankState& state = ranks_[rank];
  if (state.turn == bound_.turns.size()) return bound_.ticks;
  return bound_.turns[state.turn].tick - 1;
}

std::optional<std::pair<plan::Wait, int>> Execution::blocked(int rank) const {
  const RankState& state = ranks_[rank];
  if (state.work) return std::nullopt;
  for (const plan::Wait& wait : waits_of(state)) {
    for (int peer : setting_.mesh.group(rank, wait.axes)) {
      if (peer != rank && progress(peer) < awaited_tick(state, wait)) return {{wait, peer}};
    }
  }
  return std::nullopt;
}

// The caller may do what it likes with the memory of a rank that has returned.
void Execution::finish(int rank) {
  for (const plan::PlanOutput& output : plan_.outputs) {
    result_.outputs[output.name][rank] = memory_.take(output.buffer, rank);
  }
  for (auto& [name, pieces] : result_.storage) {
    pieces[rank] = memory_.take(plan_.parameter(name), rank);
  }
  memory_.leave(rank);
  ranks_[rank].returned = true;
}

void Execution::act(int rank) {
  RankState& state = ranks_[rank];
  if (state.turn == bound_.turns.size()) return finish(rank);
  if (!state.work) state.work = work_of(context_, bound_.turns[state.turn], rank);
  if (!state.work->step()) return;
  state.work.reset();
  ++state.turn;
}

void Execution::report_deadlock() const {
  std::string message = "no rank can act:";
  for (int rank = 0; rank < rank_count(); ++rank) {
    const RankState& state = ranks_[rank];
    if (state.returned) continue;
    const bool at_end = state.turn == bound_.turns.size();
    message += " " + text_of(plan_, {rank, at_end ? nullptr : &bound_.turns[state.turn]});
    if (at_end) message += ", returning";
    if (const auto on = blocked(rank)) {
      const plan::Wait& wait = on->first;
      message += ", waits for rank " + std::to_string(on->second) + " to do launch " +
                 std::to_string(wait.on.index) + " (" + plan_.launch(wait.on).name + ")" +
                 (wait.same_chunk ? " of that chunk;" : ";");
    }
  }
  throw InternalError(message);
}

interp::Result Execution::run() {
  for (const plan::PlanOutput& output : plan_.outputs) {
    result_.outputs[output.name].resize(rank_count());
  }
  for (const Node& node : plan_.graph.nodes()) {
    if (!std::holds_alternative<Update>(node.op)) continue;
    result_.storage[plan_.graph.node(node.inputs[0]).name].resize(rank_count());
  }
  for (;;) {
    std::vector<int> enabled;
    bool all_returned = true;
    for (int rank = 0; rank < rank_count(); ++rank) {
      if (ranks_[rank].returned) continue;
      all_returned = false;
      if (!blocked(rank)) enabled.push_back(rank);
    }
    if (all_returned) return std::move(result_);
    if (enabled.empty()) report_deadlock();
    act(scheduler_.pick(enabled));
  }
}

}  // namespace

interp::Result execute(const plan::Plan& plan, const interp::Setting& setting,
                       const std::map<std::string, interp::Pieces>& inputs,
                       const ExecutorOptions& options) {
  Execution execution(plan, setting, options);
  execution.put_inputs(inputs);
  return execution.run();
}

}  // namespace coconet::simulate
