#include "coconet/source/cpp/kernel_printer.h"

namespace coconet::source::cpp {

using plan::Compute;
using plan::Count;
using plan::FoldBuffer;
using plan::FoldPeers;
using plan::Level;
using plan::Load;
using plan::ReduceRun;

std::string KernelPrinter::storage(plan::BufferId buffer) const {
  return storage_type(plan_.buffer(buffer).type.dtype.kind);
}

std::string KernelPrinter::widened(plan::BufferId buffer, const std::string& text) const {
  const DTypeKind kind = plan_.buffer(buffer).type.dtype.kind;
  return accumulator_of(kind) == kind ? text : "widen(" + text + ")";
}

std::string KernelPrinter::stored(plan::BufferId buffer, const std::string& text) const {
  const DTypeKind kind = plan_.buffer(buffer).type.dtype.kind;
  if (accumulator_of(kind) == kind) return bare(text);
  // A value has its dtype, which is the buffer's: it is rounded already.
  const std::string how = kind == DTypeKind::bf16 ? "narrowed" : "round_to";
  return how + "<" + storage(buffer) + ">(" + bare(text) + ")";
}

std::string KernelPrinter::bare(const std::string& text) {
  if (text.empty() || text.front() != '(') return text;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (open == 0) return i + 1 == text.size() ? text.substr(1, i - 1) : text;
  }
  return text;
}

bool KernelPrinter::moves(plan::BufferId buffer) const {
  const Shape& shape = plan_.buffer(buffer).type.shape;
  if (shape.empty()) return false;
  return shape == kernel_.space.shape || !shape.back().is_one();
}

bool KernelPrinter::widens_tiles(Id id) const {
  const Load* load = is<Load>(id);
  return load && at(id).per_peer && at(id).level == Level::element && moves(load->buffer) &&
         plan_.buffer(load->buffer).type.dtype.kind == DTypeKind::f16;
}

bool KernelPrinter::makes_words(Id id) const {
  const Compute* compute = is<Compute>(id);
  return compute && std::holds_alternative<Dropout>(compute->op) &&
         at(id).level == Level::element && !at(id).per_peer;
}

std::string KernelPrinter::load_text(Id id) {
  const plan::BufferId buffer = std::get<Load>(at(id).action).buffer;
  const std::string name = names_of(buffer);
  if (at(id).level == Level::call) return widened(buffer, "*" + name);
  const std::string base = in_fold_ && at(id).per_peer ? "" : name + "_i";
  const bool moving = at(id).level == Level::element && moves(buffer);
  std::string index = base;
  if (moving) index += base.empty() ? "i" : " + i";
  if (index.empty()) index = "0";
  const std::string text = name + "[" + index + "]";
  return in_fold_ && widens_tiles(id) ? text : widened(buffer, text);
}

std::string KernelPrinter::expression(Id id) {
  if (is<Load>(id)) {
    const bool variable = at(id).level == Level::call && !at(id).per_peer;
    return variable ? name_[id] : load_text(id);
  }
  if (is_alias(id)) return expression(origin_of(id));
  if (!has_line(id)) return definition(id);
  if (kept_in_[id] && loop_[id] < now_) return element_text(kept_in_[id]->buffer);
  const bool from_scratch = has_scratch(id) && at(id).level == Level::element && !in_fold_ &&
                            (fills_tile(id) || loop_[id] < now_);
  return from_scratch ? name_[id] + "_tile[i]" : name_[id];
}

std::string KernelPrinter::rounded_text(Id id, const std::string& text) const {
  const DTypeKind kind = at(id).dtype.kind;
  if (accumulator_of(kind) == kind) return text;
  return "rounded<" + storage_type(kind) + ">(" + text + ")";
}

std::string KernelPrinter::pointwise_text(Id id, PointwiseFn fn) {
  const auto& inputs = at(id).inputs;
  const DTypeKind kind = at(inputs[0].index).dtype.kind;
  const bool infix = is_floating(kind) && (fn == PointwiseFn::add || fn == PointwiseFn::sub ||
                                           fn == PointwiseFn::mul || fn == PointwiseFn::div);
  if (infix) {
    return "(" + expression(inputs[0].index) + " " + std::string(symbol_of(fn)) + " " +
           expression(inputs[1].index) + ")";
  }
  std::string out = "kernel::" + std::string(name_of(fn)) + "(";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out += (i > 0 ? ", " : "") + expression(inputs[i].index);
  }
  return out + ")";
}

std::string KernelPrinter::local_hash(Id dropout) const {
  const TensorType& type = plan_.graph.node(at(dropout).origin).type;
  const AxisList local = type.layout.axes_that_are<Local>();
  if (local.empty()) return "0";
  return "ranks.local_hash(" + axes_text(local) + ", " +
         (at(dropout).per_peer ? "peer" : "call.rank") + ")";
}

std::string KernelPrinter::dropout_text(Id id) {
  const std::string dropout = "dropout_" + std::to_string(id);
  const std::string x = expression(at(id).inputs[0].index);
  if (makes_words(id)) return dropout + ".apply_word(" + x + ", " + dropout + "_words[i])";
  const bool once = at(id).level == Level::call;
  return dropout + ".apply(" + x + ", " + (once ? "0" : "run.global + offset + i") + ")";
}

std::string KernelPrinter::compute_definition(Id id) {
  const auto& statement = at(id);
  const auto unexpected = [](const auto&) -> std::string {
    throw InternalError("an operation that no kernel computes");
  };
  const std::string type = storage_type(statement.dtype.kind);
  return std::visit(
      Overloaded{
          [&](const Constant& op) { return literal_text(op); },
          [&](const AxisSize& op) {
            return "cast<" + type + ">(std::int64_t{ranks.sizes[" + std::to_string(op.axis) + "]})";
          },
          [&](const DimSize& op) {
            return "cast<" + type + ">(std::int64_t{" + dim_text(plan_, op.dim) + "})";
          },
          [&](const Pointwise& op) { return rounded_text(id, pointwise_text(id, op.fn)); },
          [&](const Cast&) {
            return "cast<" + type + ">(" + expression(statement.inputs[0].index) + ")";
          },
          [&](const Dropout&) { return rounded_text(id, dropout_text(id)); },
          [&](const AsPartial& op) {
            return "(ranks.is_first(" + axes_text(op.axes) + (statement.per_peer ? ", peer" : "") +
                   ") ? " + expression(statement.inputs[0].index) + " : widen(stored_identity<" +
                   fold_type(op.fold) + ", " + type + ">()))";
          },
          [&](const Input& op) { return unexpected(op); },
          [&](const Matmul& op) { return unexpected(op); },
          [&](const Conv2d& op) { return unexpected(op); },
          [&](const Reduce& op) { return unexpected(op); },
          [&](const Norm& op) { return unexpected(op); },
          [&](const LayerNorm& op) { return unexpected(op); },
          [&](const RmsNorm& op) { return unexpected(op); },
          [&](const Softmax& op) { return unexpected(op); },
          [&](const Transpose& op) { return unexpected(op); },
          [&](const Reshape& op) { return unexpected(op); },
          [&](const Narrow& op) { return unexpected(op); },
          [&](const Concat& op) { return unexpected(op); },
          [&](const BlockReduce& op) { return unexpected(op); },
          [&](const FoldBlocks& op) { return unexpected(op); },
          [&](const Across& op) { return unexpected(op); },
          [&](const Update& op) { return unexpected(op); },
          [&](const AllReduce& op) { return unexpected(op); },
          [&](const ReduceScatter& op) { return unexpected(op); },
          [&](const AllGather& op) { return unexpected(op); },
          [&](const ReduceTo& op) { return unexpected(op); },
          [&](const Broadcast& op) { return unexpected(op); },
          [&](const Shard& op) { return unexpected(op); },
          [&](const RootOf& op) { return unexpected(op); },
          [&](const Shift& op) { return unexpected(op); },
          [&](const AllToAll& op) { return unexpected(op); },
          [&](const Stack& op) { return unexpected(op); },
      },
      std::get<Compute>(statement.action).op);
}

// `more`: how many elements, and where to, for a tile of them.
std::string KernelPrinter::across_text(Id id, const std::string& more) {
  const FoldBuffer& fold = *across(id);
  const std::string& layout = layouts_.at(pieces_.of(plan_.graph.node(at(id).origin).type));
  const Dim& packed = plan_.buffer(fold.buffer).type.shape[0];
  return "fold_across<" + fold_type(fold.fold) + ">(" + list_text(plan_, packed) + ", pointer<" +
         storage(fold.buffer) + ">(call, buffer::" + names_of(fold.buffer) +
         ", call.rank), index_in(" + layout + ", run.coordinates, space.dims)" + more + ")";
}

std::string KernelPrinter::definition(Id id) {
  const auto& statement = at(id);
  return std::visit(
      Overloaded{
          [&](const Load&) { return load_text(id); },
          [&](const Compute&) { return compute_definition(id); },
          [&](const Count& count) {
            if (statement.level == Level::element) {
              return "cast<" + storage_type(statement.dtype.kind) + ">(" +
                     list_text(plan_, count.shape[0]) + ".elements[run.global + offset + i])";
            }
            return "cast<" + storage_type(statement.dtype.kind) + ">(std::int64_t{" +
                   product_text(plan_, count.shape) + "})";
          },
          [&](const FoldBuffer& fold) {
            if (across(id)) return across_text(id, "");
            const std::string name = names_of(fold.buffer);
            const std::string type = storage(fold.buffer);
            const std::string values =
                "pointer<" + type + ">(call, buffer::" + name + ", call.rank)";
            const Shape& shape = plan_.buffer(fold.buffer).type.shape;
            if (statement.level == Level::element) {
              return "fold_member<" + fold_type(fold.fold) + ">(" + list_text(plan_, shape[0]) +
                     ", run.global + offset + i, " + values + ")";
            }
            return rounded_text(id, "fold_blocks<" + fold_type(fold.fold) + ">(" +
                                        product_text(plan_, shape) + ", " + values + ")");
          },
          [&](const FoldPeers&) -> std::string { throw InternalError("a fold is a statement"); },
          [&](const ReduceRun&) -> std::string {
            throw InternalError("a reduction is a statement");
          },
      },
      statement.action);
}

}  // namespace coconet::source::cpp
