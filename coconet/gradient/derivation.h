// The gradient program while it is written: values of the program copied as they are needed, and
// what its nodes' gradients are made of. Included by gradient/*.cc only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coconet/graph/expand.h"
#include "coconet/graph/graph.h"

namespace coconet::gradients {

class Derivation {
 public:
  explicit Derivation(const Graph& program, Header header);

  const Graph& program() const { return program_; }
  GraphBuilder& builder() { return builder_; }
  // A copy: what the builder has moves when a node is added.
  TensorType type(NodeId added) const { return builder_.type(added); }

  // The value of a node of the program: added when it is first asked for, with what it needs.
  NodeId value(NodeId id);
  // x under the mask of a dropout of the program. A program has one dropout of a site: if the
  // value was asked for, both are a product with one mask.
  NodeId dropped(NodeId dropout, NodeId x);
  // Nodes added from now on have the place of this node of the program.
  void at(NodeId id) { where_ = program_.node(id).where; }

  // --- Operations on what has been added, with every collective visible.
  NodeId add(Op op, std::vector<NodeId> inputs);
  NodeId apply(PointwiseFn fn, std::vector<NodeId> inputs);
  NodeId number(double value, NodeId like);  // in the dtype of `like`
  NodeId cast(NodeId x, DType dtype);        // as it is if it has that dtype
  // In the dtype in which it accumulates: f32 for 16 bits.
  NodeId wide(NodeId x);
  NodeId sum(NodeId x, const std::vector<int>& dims);
  NodeId mean_of_last(NodeId x);
  // x spread to the shape of `like`, by broadcasting.
  NodeId spread(NodeId x, NodeId like);

  // --- Gradients
  // The node of the program has this as one summand of its gradient, in any placement of its value:
  // partial where what the ranks hold is still to be added. It may be wider than the value: it is
  // rounded where it has been added.
  void contribute(NodeId to, NodeId summand);
  // As contribute, of a summand that has been computed in the shape of a result into which the
  // operand was broadcast.
  void contribute_broadcast(NodeId to, NodeId summand);
  bool wanted(NodeId id) const { return wanted_[static_cast<std::size_t>(id.index)]; }
  void want(std::vector<bool> wanted) { wanted_ = std::move(wanted); }

  // The sum of the summands; none if there are none. As they lie, if they all lie alike, and not
  // rounded:
  std::optional<NodeId> raw(NodeId id);
  // where the node's gradient lies, in its dtype.
  std::optional<NodeId> settled(NodeId id);
  // Moved to where the gradient of a value of this type lies.
  NodeId settle(NodeId x, const TensorType& of);

 private:
  NodeId copy(NodeId id);  // what its operands are copied to is known
  NodeId masked(NodeId x, NodeId mask);
  std::vector<NodeId> summands(NodeId id);  // of one dtype
  bool alike(const std::vector<NodeId>& some) const;
  NodeId total(const std::vector<NodeId>& some);
  NodeId settle_axes(NodeId x, const Layout& wanted);

  const Graph& program_;
  GraphBuilder builder_;
  Where where_;
  std::vector<NodeId> values_;                 // by node of the program; invalid: not added
  std::map<int, NodeId> masks_;                // by node: of dropouts whose value was asked for
  std::vector<std::vector<NodeId>> summands_;  // by node of the program
  std::vector<bool> wanted_;
};

// Where the gradient of a value lies: where it does, but of partial(+) replicated.
Layout layout_of_gradient(const Layout& value);

// The rule of one node: contributes to its operands. `dy`: the settled gradient of the node.
// UserError(unsupported) if it has none.
void derive_pointwise(Derivation& d, NodeId id, NodeId dy);
void derive(Derivation& d, NodeId id, NodeId dy);

[[noreturn]] void no_rule(const Derivation& d, NodeId id, const std::string& why);

}  // namespace coconet::gradients
