// Writes random programs statement by statement; what inference refuses is tried otherwise.
#pragma once

#include "tests/property/random_program.h"

namespace coconet::property {

class ProgramWriter {
 public:
  ProgramWriter(Random& random, Header header);
  Program write(int operations);

 private:
  // Each adds statements and gives the last one's number, or nothing if inference refuses it.
  std::optional<int> add(Op op, std::vector<int> operands);
  int must_add(Op op, std::vector<int> operands);
  int input(const TensorType& type, InputKind kind = InputKind::tensor);
  int literal(double value, const DType& dtype);

  void begin();          // inputs
  void row_parallel();   // matmul over a sliced K, its all_reduce, a tail
  void data_parallel();  // all_reduce of local gradients, an update
  bool operation();      // one random operation
  bool pointwise();
  bool binary(int x);
  bool choice(int x);  // where
  bool drop(int x);
  bool product(int x);
  bool convolution(int x);
  bool reduction(int x);
  bool normalise(int x);
  bool movement(int x);
  bool collective(int x);
  bool placing(int x);
  bool store(int x);

  int any();        // a value, recent ones rather
  int like(int x);  // a value or new input that may meet x
  TensorType random_type();
  Layout random_layout(const Shape& shape);
  const TensorType& type(int statement) const { return builder_.type(ids_[statement]); }
  void choose_outputs();

  Random& random_;
  GraphBuilder builder_;
  DType dtype_;  // the program's usual one
  Program program_;
  std::vector<NodeId> ids_;
  std::vector<bool> updated_;  // by statement: storage that has its update
  std::string refusal_;        // of what was tried last
  int unnamed_ = 20;           // percent of the operations that get no name
  int inputs_ = 0, sites_ = 0;
};

}  // namespace coconet::property
