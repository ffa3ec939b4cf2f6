// Short ways to make a graph in a test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coconet/graph/expand.h"
#include "coconet/graph/graph.h"

namespace coconet::fixture {

inline Dim dim(const std::string& name) { return Dim::named(name); }
// {"B", "S", "4"} -> [B,S,4]
inline Shape shape(const std::vector<std::string>& dims) {
  Shape out;
  for (const std::string& d : dims) {
    const bool digit = d[0] >= '0' && d[0] <= '9';
    out.push_back(digit ? Dim(std::stoll(d)) : Dim::named(d));
  }
  return out;
}

inline Placement sliced(int d) { return Sliced{Slice::dim(d)}; }
inline Placement sliced(int first, int last) { return Sliced{Slice::range(first, last)}; }
inline Placement sliced_flat() { return Sliced{Slice::all()}; }
inline Placement partial(Fold fold = Fold::sum) { return Partial{fold}; }
inline Placement rooted(int root = 0) { return Rooted{root}; }
inline Placement local() { return Local{}; }
inline Placement replicated() { return Replicated{}; }

// Block sums of N elements on a mesh of one axis.
inline TensorType block_sums(const Placement& placement = Replicated{}) {
  return {f32, {Dim::blocks(dim("N"))}, Layout(1).with(0, placement)};
}

// Builds a program on `mesh world(axes...)`, one input a call.
struct Fixture {
  explicit Fixture(std::vector<std::string> axes = {"tp"}, std::vector<DTypeParameter> dtypes = {})
      : builder(Header{"test",
                       Mesh{"world", std::move(axes)},
                       {"B", "S", "H", "N", "M", "K"},
                       std::move(dtypes)}) {}

  const Mesh& mesh() const { return builder.mesh(); }
  // Placements by axis, in the order in which they cut: {{0, sliced(0)}, {1, local()}}.
  TensorType type(DType dtype, const std::vector<std::string>& dims,
                  const std::vector<std::pair<int, Placement>>& placed = {}) const {
    TensorType out{std::move(dtype), shape(dims), Layout(mesh().size())};
    for (const auto& [axis, placement] : placed) out.layout = out.layout.with(axis, placement);
    return out;
  }
  NodeId input(const std::string& name, const TensorType& type) {
    return builder.add(Input{InputKind::tensor, type, {}}, {}, name);
  }
  // On a mesh of one axis.
  NodeId input(const std::string& name, DType dtype, const std::vector<std::string>& dims,
               const Placement& placement = Replicated{}) {
    return input(name, type(std::move(dtype), dims, {{0, placement}}));
  }
  NodeId state(const std::string& name, const TensorType& type) {
    return builder.add(Input{InputKind::state, type, {}}, {}, name);
  }
  NodeId scalar(const std::string& name, DType dtype, std::optional<double> value = {}) {
    return builder.add(Input{InputKind::scalar, type(std::move(dtype), {}), value}, {}, name);
  }
  NodeId literal(double value, DType dtype = f32) {
    return builder.add(Constant{value, std::move(dtype)}, {});
  }
  NodeId add(Op op, std::vector<NodeId> inputs, const std::string& name = "") {
    return add_visible(builder, std::move(op), std::move(inputs), name);
  }
  NodeId apply(PointwiseFn fn, std::vector<NodeId> inputs, const std::string& name = "") {
    return add(Pointwise{fn}, std::move(inputs), name);
  }
  std::string text(NodeId id) const { return builder.type(id).text(mesh()); }
  // Ends the program: the nodes become outputs of their names.
  Graph finish(const std::vector<NodeId>& outputs) {
    for (NodeId id : outputs) {
      const std::string& name = builder.node(id).name;
      builder.add_output(name.empty() ? builder.fresh_name("out") : name, id);
    }
    return std::move(builder).finish();
  }

  GraphBuilder builder;
};

}  // namespace coconet::fixture
