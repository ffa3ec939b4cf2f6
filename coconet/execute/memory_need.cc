#include "coconet/execute/memory_need.h"

#include <algorithm>
#include <numeric>

#include "coconet/runtime/gemm/packed.h"
#include "coconet/runtime/memory.h"
#include "coconet/runtime/segment.h"

namespace coconet::execute {

std::vector<runtime::BufferNeed> slots_of(const plan::BoundPlan& bound) {
  const std::vector<plan::Buffer>& buffers = bound.plan->buffers;
  int count = 0;
  for (const plan::Buffer& buffer : buffers) count = std::max(count, buffer.slot + 1);
  std::vector<runtime::BufferNeed> out(count);
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].of_caller) continue;
    runtime::BufferNeed& need = out[buffers[b].slot];
    need.bytes = std::max(need.bytes, bound.buffers[b].bytes);
    need.symmetric = need.symmetric || buffers[b].symmetric;
  }
  return out;
}

std::uint64_t caller_bytes(const plan::BoundPlan& bound) {
  std::uint64_t out = 0;
  for (std::size_t b = 0; b < bound.buffers.size(); ++b) {
    if (bound.plan->buffers[b].of_caller) out += std::uint64_t(bound.buffers[b].bytes);
  }
  return out;
}

namespace {

// Right operands of products are copied in another order, in f32 at most, and the latest kept.
std::uint64_t packed_bytes(const plan::BoundPlan& bound) {
  std::vector<std::uint64_t> packed;
  for (const plan::Launch& launch : bound.plan->launches) {
    const auto* matmul = std::get_if<plan::MatmulLaunch>(&launch.work);
    if (matmul == nullptr) continue;
    const TensorType& type = bound.plan->buffer(matmul->b).type;
    packed.push_back(std::uint64_t(bound.piece(type, 0).count()) * sizeof(float));
  }
  std::sort(packed.rbegin(), packed.rend());
  packed.resize(std::min(packed.size(), gemm::kMostPacked));
  return std::accumulate(packed.begin(), packed.end(), std::uint64_t{0});
}

}  // namespace

void need_memory_of_run(const plan::Plan& plan, const interp::Setting& setting,
                        const std::vector<std::int64_t>& chunks, const GlobalTensors& given) {
  const std::uint64_t inputs = bytes_to_draw(plan.graph, setting, given);
  runtime::need_memory(inputs, "the inputs");  // what is far too large is not added up
  plan::check_chunks(plan, chunks);
  const plan::BoundPlan bound = plan::bind(plan, setting.sizes, setting.mesh, chunks);
  const std::uint64_t ranks = setting.mesh.ranks();
  const std::vector<runtime::BufferNeed> slots = slots_of(bound);
  const std::uint64_t segments = runtime::segment_bytes(runtime::symmetric_bytes(slots)) * ranks;
  std::uint64_t own = caller_bytes(bound), results = 0;
  for (const runtime::BufferNeed& need : slots) own += need.symmetric ? 0 : need.bytes;
  for (const plan::PlanOutput& output : plan.outputs) {
    results += bound.buffers[output.buffer.index].bytes * ranks;
  }
  for (const Node& node : plan.graph.nodes()) {
    if (!std::holds_alternative<Update>(node.op)) continue;
    const plan::BufferId storage = plan.parameter(plan.graph.node(node.inputs[0]).name);
    results += bound.buffers[storage.index].bytes * ranks;
  }
  const std::uint64_t pieces = bytes_of_pieces(plan.graph, setting);
  const std::uint64_t packed = packed_bytes(bound);
  runtime::need_memory({{"the inputs", inputs},
                        {"the ranks' pieces of the inputs", pieces},
                        {"the ranks' buffers", own * ranks + segments},
                        {"the ranks' packed operands of products", packed * ranks},
                        {"the results", results}},
                       inputs + pieces + results + own + packed + segments);
}

}  // namespace coconet::execute
