// Small graphs and values for the interpreter's tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/interp/interpreter.h"

namespace coconet::interp {

// The bytes of numbers, each rounded to the dtype; and back.
Bytes bytes_from(DTypeKind kind, const std::vector<double>& values);
std::vector<double> numbers(DTypeKind kind, const Bytes& bytes);
// 0, step, 2 step, ...
std::vector<double> ramp(std::int64_t count, double step = 1, double first = 0);
// Numbers between -1 and 1 that look random, the same for the same seed.
std::vector<double> noise(std::int64_t count, int seed);

// A graph under construction, its global inputs, and what it runs on.
class Sample {
 public:
  // Axes "a", "b", ... of these sizes; dims by name.
  explicit Sample(std::vector<int> mesh, Sizes dims = {});

  Layout whole() const { return Layout(builder_.mesh().size()); }
  // A declared input with its tensor as global_tensor.h lays it out.
  NodeId input(const std::string& name, const TensorType& type, const std::vector<double>& values,
               InputKind kind = InputKind::tensor);
  NodeId add(Op op, std::vector<NodeId> inputs, const std::string& name = "");
  // As programs add it: with every collective visible (graph/expand.h).
  NodeId add_visible(Op op, std::vector<NodeId> inputs, const std::string& name = "");
  NodeId pointwise(PointwiseFn fn, std::vector<NodeId> inputs, const std::string& name = "");
  NodeId literal(double value, DType dtype = f32);
  void output(const std::string& name, NodeId node) { builder_.add_output(name, node); }
  const TensorType& type(NodeId id) const { return builder_.type(id); }

  Setting setting;

  // The whole program's result. The sample may be run several times.
  Result run() const;
  Graph graph() const;
  // An output's global value (partial axes folded) as numbers.
  std::vector<double> value_of(const std::string& output) const;
  Pieces pieces_of(const std::string& output) const { return run().outputs.at(output); }

 private:
  GraphBuilder builder_;
  std::map<std::string, Pieces> inputs_;
};

Layout sliced(int d, int axis = 0, int axes = 1);
Layout flat(int axis = 0, int axes = 1);
Layout partial(Fold fold = Fold::sum, int axis = 0, int axes = 1);
Layout local(int axis = 0, int axes = 1);

}  // namespace coconet::interp
