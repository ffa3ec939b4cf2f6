#include <optional>
#include <vector>

#include "coconet/graph/literal.h"
#include "coconet/graph/print.h"

namespace coconet {
namespace {

constexpr Binding kLoosest = Binding::logical_or;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  // The whole expression of a node, whatever its name.
  void write_definition(NodeId id) {
    if (is_literal(graph_, id)) {
      write_cast(id);
    } else {
      write_node(id, kLoosest);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_cast(NodeId id) {
    out_ += "cast(";
    write_node(id, kLoosest);
    out_ += ", " + graph_.node(id).type.dtype.text() + ")";
  }

  // An operand where expressions of `least` and tighter stand without parentheses.
  void write_operand(NodeId id, Binding least, bool as_cast) {
    const Node& node = graph_.node(id);
    if (!node.name.empty()) {
      out_ += node.name;
    } else if (as_cast) {
      write_cast(id);
    } else {
      write_node(id, least);
    }
  }

  // Which operands are literals whose dtype no operand beside them gives.
  std::vector<bool> casts_of(const Node& node) const {
    std::vector<std::optional<DType>> known;
    for (NodeId input : node.inputs) {
      const bool literal = is_written_as_literal(graph_, input);
      known.push_back(literal ? std::nullopt : std::optional(graph_.node(input).type.dtype));
    }
    std::vector<bool> out(known.size(), false);
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i]) continue;
      const DType& own = graph_.node(node.inputs[i]).type.dtype;
      if (literal_dtype(node.op, static_cast<int>(i), known) == own) continue;
      out[i] = true;
      known[i] = own;
    }
    return out;
  }

  void write_node(NodeId id, Binding least) {
    const Node& node = graph_.node(id);
    const std::vector<bool> casts =
        is_literal(graph_, id) ? std::vector<bool>(node.inputs.size(), false) : casts_of(node);
    if (const Pointwise* pointwise = std::get_if<Pointwise>(&node.op)) {
      const Binding binding = binding_of(pointwise->fn);
      if (binding < least) out_ += '(';
      write_pointwise(node, pointwise->fn, casts);
      if (binding < least) out_ += ')';
      return;
    }
    if (const Constant* constant = std::get_if<Constant>(&node.op)) {
      out_ += text_of(constant->value);  // a sign is no matter: no operand must be an atom
      return;
    }
    write_call(node, casts);
  }

  void write_pointwise(const Node& node, PointwiseFn fn, const std::vector<bool>& casts) {
    const Binding binding = binding_of(fn);
    if (binding == Binding::atom) return write_call(node, casts);
    const std::string symbol(symbol_of(fn));
    if (arity_of(fn) == 1) {
      out_ += binding == Binding::logical_not ? symbol + " " : symbol;
      return write_operand(node.inputs[0], binding, casts[0]);
    }
    // Comparisons do not chain; the others group from the left.
    const Binding tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
    write_operand(node.inputs[0], compares(fn) ? tighter : binding, casts[0]);
    out_ += " " + symbol + " ";
    write_operand(node.inputs[1], tighter, casts[1]);
  }

  void write_call(const Node& node, const std::vector<bool>& casts) {
    out_ += std::string(name_of(node.op)) + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      write_operand(node.inputs[i], kLoosest, casts[i]);
    }
    write_attributes(node.op);
    out_ += ")";
    const AxisList axes = axes_of(node.op);
    const bool argument = std::holds_alternative<Shift>(node.op);
    if (!axes.empty() && !argument) out_ += text_of_axes(graph_.mesh(), axes);
  }

  // What stands after the operands of a call.
  void write_attributes(const Op& op) {
    const std::vector<std::string>& axes = graph_.mesh().axes;
    const auto fold = [this](Fold fold) { out_ += ", " + std::string(name_of(fold)); };
    const auto number = [this](int value) { out_ += ", " + std::to_string(value); };
    const auto out_dtype = [this](const std::optional<DType>& dtype) {
      if (dtype) out_ += ", out=" + dtype->text();
    };
    std::visit(
        Overloaded{[](const Input&) {},
                   [](const Constant&) {},
                   [&](const AxisSize& o) { out_ += axes[o.axis]; },
                   [&](const DimSize& o) { out_ += o.dim.text(); },
                   [](const Pointwise&) {},
                   [&](const Cast& o) { out_ += ", " + o.to.text(); },
                   [&](const Dropout& o) { out_ += ", site=" + std::to_string(o.site); },
                   [&](const Matmul& o) {
                     out_ += std::string(o.ta ? ", ta=true" : "") + (o.tb ? ", tb=true" : "");
                     out_dtype(o.out);
                   },
                   [&](const Conv2d& o) { write_window(o); },
                   [&](const Reduce& o) { write_dims(o.dims); },
                   [&](const Norm& o) { out_dtype(o.out); },
                   [](const LayerNorm&) {},
                   [](const RmsNorm&) {},
                   [&](const Softmax& o) { write_dims(o.dims); },
                   [&](const Transpose& o) { write_dims(o.order); },
                   [&](const Reshape& o) { out_ += ", " + text_of(o.shape); },
                   [&](const Narrow& o) {
                     number(o.dim);
                     out_ += ", " + o.start.text() + ", " + o.length.text();
                   },
                   [&](const Concat& o) {
                     out_ += ", " + std::to_string(o.dim) + (o.size ? ", size=" : "");
                     if (o.size) out_ += o.size->text();
                   },
                   [](const BlockReduce&) {},
                   [&](const FoldBlocks& o) { fold(o.fold), out_ += o.mean ? ", mean=true" : ""; },
                   [&](const Across& o) { fold(o.fold), write_size(o.size); },
                   [](const Update&) {},
                   [&](const AllReduce& o) { fold(o.fold); },
                   [&](const ReduceScatter& o) {
                     fold(o.fold);
                     out_ += ", " + o.slice.text();
                   },
                   [](const AllGather&) {},
                   [&](const ReduceTo& o) { fold(o.fold), number(o.root); },
                   [&](const Broadcast& o) {
                     if (o.root) number(*o.root);
                   },
                   [&](const Shard& o) { out_ += ", " + o.slice.text(); },
                   [&](const RootOf& o) { number(o.root); },
                   [&](const AsPartial& o) { fold(o.fold); },
                   [&](const Shift& o) {
                     out_ += ", " + axes[o.axes.at(0)] + ", " + std::to_string(o.by) +
                             (o.wrap ? ", wrap" : "");
                   },
                   [&](const AllToAll& o) { out_ += ", " + o.from.text() + ", " + o.to.text(); },
                   [](const Stack&) {}},
        op);
  }

  void write_window(const Conv2d& op) {
    if (op.stride != 1) out_ += ", stride=" + std::to_string(op.stride);
    if (op.padding != 0) out_ += ", padding=" + std::to_string(op.padding);
    write_size(op.size);
  }

  void write_size(const std::optional<Shape>& size) {
    if (size) out_ += ", size=" + text_of(*size);
  }

  void write_dims(const std::vector<int>& dims) {
    if (dims.empty()) return;
    out_ += ", [";
    for (std::size_t i = 0; i < dims.size(); ++i) {
      out_ += (i > 0 ? "," : "") + std::to_string(dims[i]);
    }
    out_ += "]";
  }

  const Graph& graph_;
  std::string out_;
};

}  // namespace

std::string expression_text(const Graph& graph, NodeId id) {
  Writer writer(graph);
  writer.write_definition(id);
  return writer.take();
}

}  // namespace coconet
