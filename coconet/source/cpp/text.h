// Pieces of C++ text that every part of the printer uses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/plan/plan.h"
#include "coconet/source/cpp/names.h"

namespace coconet::source::cpp {

std::string storage_type(DTypeKind kind);  // "f16", "float", "std::int32_t", ...
std::string compute_type(DTypeKind kind);  // "float", ...
std::string fold_type(Fold fold);          // "Sum", ...
// A literal of the dtype's compute type, as the interpreter converts it.
std::string literal_text(const Constant& constant);
// A dim in terms of the functions that stand for the program's dims; "blocks_of(N)"; of lists, of
// their tables.
std::string dim_text(const plan::Plan& plan, const Dim& dim);
std::string product_text(const plan::Plan& plan, const Shape& shape);
// The table of the list that `dim`, packed or the blocks of that, is of: "list::of_0(call)".
std::string list_text(const plan::Plan& plan, const Dim& dim);
std::string axes_text(const AxisList& axes);                     // "{0, 1}"
std::string peers_name(const Mesh& mesh, const AxisList& axes);  // "dp_tp_ranks"
// Some buffer that the launch touches is a ring: it is told which turn it performs.
bool touches_ring(const plan::Plan& plan, int launch);
// What is added, in a turn, to indexes of elements of a ring whose piece is laid out by `space`.
std::string ring_text(const plan::Plan& plan, plan::BufferId ring, const std::string& space);
std::string as_comment(const std::string& text, const std::string& indent);

// The functions that give the piece of each type that a module touches: one for each shape and
// layout.
class Pieces {
 public:
  explicit Pieces(const plan::Plan& plan) : plan_(plan) {}
  // The call that makes the Space of the type's piece: "piece_2(ranks)".
  std::string of(const TensorType& type) { return function_of(type) + "(ranks)"; }
  std::string function_of(const TensorType& type);  // "piece_2"
  std::string functions() const { return text_; }

 private:
  const plan::Plan& plan_;
  std::vector<std::pair<Shape, Layout>> known_;
  std::string text_;
};

}  // namespace coconet::source::cpp
