#include "coconet/execute/shared_results.h"

#include <utility>

namespace coconet::execute {

std::vector<Returned> returned_of(const plan::Plan& plan) {
  std::vector<Returned> out;
  for (const plan::PlanOutput& output : plan.outputs) {
    out.push_back({output.name, output.buffer.index, false});
  }
  for (const Node& node : plan.graph.nodes()) {
    if (!std::holds_alternative<Update>(node.op)) continue;
    const std::string& name = plan.graph.node(node.inputs[0]).name;
    out.push_back({name, plan.parameter(name).index, true});
  }
  return out;
}

std::size_t SharedResults::bytes(const plan::BoundPlan& bound, std::span<const Returned> returned,
                                 int calls) {
  std::size_t of_rank = sizeof(double) * static_cast<std::size_t>(calls);
  for (const Returned& each : returned) of_rank += bound.buffers[each.buffer].bytes;
  return of_rank * static_cast<std::size_t>(bound.mesh.ranks());
}

SharedResults::SharedResults(const plan::BoundPlan& bound, std::span<const Returned> returned,
                             int calls)
    : bound_(bound),
      returned_(returned),
      calls_(calls),
      ranks_(bound.mesh.ranks()),
      memory_(bytes(bound, returned, calls)) {}

std::span<std::byte> SharedResults::value(std::size_t r, int rank) const {
  std::size_t at = bytes(bound_, returned_.first(r), calls_);
  const plan::BoundBuffer& buffer = bound_.buffers[returned_[r].buffer];
  at += static_cast<std::size_t>(buffer.bytes) * static_cast<std::size_t>(rank);
  const TensorType& type = bound_.plan->buffers[returned_[r].buffer].type;
  const std::int64_t held = bound_.piece(type, rank).count() * size_of(type.dtype.kind);
  return memory_.bytes().subspan(at, static_cast<std::size_t>(held));
}

double& SharedResults::time(int call, int rank) const {
  return memory_.as<double>()[static_cast<std::size_t>(call) * ranks_ + rank];
}

RunResult SharedResults::collect() const {
  RunResult out;
  for (std::size_t r = 0; r < returned_.size(); ++r) {
    interp::Pieces pieces;
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::span<const std::byte> from = value(r, rank);
      pieces.emplace_back(from.begin(), from.end());
    }
    (returned_[r].storage ? out.storage : out.outputs)[returned_[r].name] = std::move(pieces);
  }
  for (int call = 0; call < calls_; ++call) {
    std::vector<double>& times = out.microseconds.emplace_back();
    for (int rank = 0; rank < ranks_; ++rank) times.push_back(time(call, rank));
  }
  return out;
}

}  // namespace coconet::execute
