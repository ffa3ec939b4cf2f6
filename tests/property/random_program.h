// Random small programs as data: a list of statements that can be cut down and built again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/interp/interpreter.h"

namespace coconet::property {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // From 0 to n - 1. Requires: n > 0.
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(static_cast<int>(from.size()))];
  }
  std::uint64_t next() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// An operation on the values of earlier statements; inputs and literals are statements too.
struct Statement {
  Op op;
  std::vector<int> operands;
  std::string name;  // may be empty
};

struct Program {
  int axes = 1;
  std::optional<DTypeKind> parameter;  // what the dtype parameter T is bound to, if there is one
  std::vector<Statement> statements;
  std::vector<int> outputs;  // statements
};

// One to eight operations, beside inputs and literals.
Program random_program(Random& random);

// UserError if the statements make no graph.
Graph build(const Program& program);

// Sizes of the dims and of the mesh.
interp::Setting random_setting(Random& random, int axes);

// A tensor of random values for each input, as interp/global_tensor.h lays it out, from `seed`.
// Scalars are among them.
std::map<std::string, interp::Bytes> random_inputs(const Graph& graph,
                                                   const interp::Setting& setting,
                                                   std::uint64_t seed);
// The ranks' pieces by the types that the inputs of `graph` have.
std::map<std::string, interp::Pieces> pieces_of(const Graph& graph, const interp::Setting& setting,
                                                const std::map<std::string, interp::Bytes>& global);

}  // namespace coconet::property
