#include "tests/support/meaning.h"

#include <gtest/gtest.h>

#include <random>

#include "coconet/graph/print.h"
#include "coconet/interp/compare.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/interp/scalar.h"

namespace coconet {
namespace {

using interp::Bytes;

// The number of elements of a tensor of this type as a global tensor.
std::int64_t count_of(const TensorType& type, const interp::Setting& setting) {
  std::int64_t count = 1;
  for (std::int64_t size : interp::global_sizes(type, setting)) count *= size;
  return count;
}

Bytes draw(const std::string& name, const TensorType& type, const interp::Setting& setting,
           int seed) {
  unsigned hash = seed;
  for (char c : name) hash = hash * 131 + static_cast<unsigned char>(c);
  std::mt19937 random(hash);
  const std::int64_t count = count_of(type, setting);
  Bytes out(count * size_of(type.dtype.kind));
  for (std::int64_t i = 0; i < count; ++i) {
    double value = static_cast<double>(random() % 2000) / 1000.0 - 1.0;
    if (name == "v") value = value * value;
    if (is_integer(type.dtype.kind)) value = 1 + random() % 7;
    interp::store(interp::cast(interp::scalar(value), type.dtype.kind), out.data(), i);
  }
  return out;
}

void expect_same_value(const std::string& what, const Applied& before, NodeId a,
                       const interp::Pieces& x, const Applied& after, NodeId b,
                       const interp::Pieces& y, const interp::Setting& setting) {
  const auto want = interp::global_value(before.graph.node(a).type, setting, x);
  const auto got = interp::global_value(after.graph.node(b).type, setting, y);
  ASSERT_EQ(got.sizes, want.sizes) << what;
  const auto comparison = interp::compare(want.kind, got.bytes, want.bytes);
  ASSERT_TRUE(comparison.equal()) << what << ": " << comparison.first->text() << "\nbefore\n"
                                  << print(before.graph) << "after\n"
                                  << print(after.graph);
}

}  // namespace

std::map<std::string, Bytes> draw_inputs(const Graph& graph, const interp::Setting& setting,
                                         int seed) {
  std::map<std::string, Bytes> out;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (input && !input->default_value) out[node.name] = draw(node.name, node.type, setting, seed);
  }
  return out;
}

interp::Result run_on(const Graph& graph, const std::map<std::string, Bytes>& globals,
                      const interp::Setting& setting) {
  std::map<std::string, interp::Pieces> pieces;
  for (const auto& [name, bytes] : globals) {
    pieces[name] = interp::scatter_global(graph.node(graph.find(name)).type, setting, bytes);
  }
  return interp::run(graph, pieces, setting);
}

void expect_same_meaning(const Applied& before, const Applied& after,
                         const std::map<std::string, Bytes>& globals,
                         const interp::Setting& setting) {
  const interp::Result x = run_on(before.graph, globals, setting);
  const interp::Result y = run_on(after.graph, globals, setting);
  ASSERT_EQ(before.graph.outputs().size(), after.graph.outputs().size());
  for (std::size_t k = 0; k < before.graph.outputs().size(); ++k) {
    const Output& a = before.graph.outputs()[k];
    const Output& b = after.graph.outputs()[k];
    ASSERT_EQ(a.name, b.name);
    ASSERT_EQ(before.graph.node(a.node).type, after.graph.node(b.node).type) << a.name;
    expect_same_value("output " + a.name, before, a.node, x.outputs.at(a.name), after, b.node,
                      y.outputs.at(b.name), setting);
  }
  ASSERT_EQ(x.storage.size(), y.storage.size());
  for (const auto& [name, pieces] : x.storage) {
    expect_same_value("storage " + name, before, before.graph.find(name), pieces, after,
                      after.graph.find(name), y.storage.at(name), setting);
  }
  for (const auto& [name, handle] : before.handles) {
    const auto other = after.handles.find(name);
    if (handle.body || handle.nodes.size() != 1 || other == after.handles.end()) continue;
    if (other->second.body || other->second.nodes.size() != 1) continue;
    const NodeId a = handle.nodes[0], b = other->second.nodes[0];
    expect_same_value("value " + name, before, a, x.values[a.index], after, b, y.values[b.index],
                      setting);
  }
}

void expect_schedule_keeps_meaning(const Graph& program, const Schedule& schedule,
                                   const Sizes& sizes, const std::vector<int>& mesh, int seed) {
  const interp::Setting setting{with_axes(sizes, program.mesh(), {mesh}), MeshSizes{mesh}, 7, 3};
  const auto globals = draw_inputs(program, setting, seed);
  const Applied unscheduled = start(program);
  Applied applied = unscheduled;
  for (const Step& step : schedule.steps) {
    SCOPED_TRACE(schedule.program + " " + schedule.name + ": " + text_of(step));
    applied = apply(applied, step);
    expect_same_meaning(unscheduled, applied, globals, setting);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace coconet
