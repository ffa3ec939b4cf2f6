#include "coconet/graph/rebind.h"

#include <algorithm>

namespace coconet {
namespace {

using Bindings = std::map<std::string, DTypeKind>;

DType rebound(DType dtype, const Bindings& bindings) {
  const auto found = bindings.find(dtype.parameter);
  if (found != bindings.end()) dtype.kind = found->second;
  return dtype;
}

// Every place where an operation holds a dtype.
Op rebound(Op op, const Bindings& bindings) {
  std::visit(
      [&](auto& payload) {
        if constexpr (requires { payload.type; }) {
          payload.type.dtype = rebound(payload.type.dtype, bindings);
        }
        if constexpr (requires { payload.dtype; }) {
          payload.dtype = rebound(payload.dtype, bindings);
        }
        if constexpr (requires { payload.to.kind; }) payload.to = rebound(payload.to, bindings);
        if constexpr (requires { payload.out; }) {
          if (payload.out) payload.out = rebound(*payload.out, bindings);
        }
      },
      op);
  return op;
}

Header rebound(Header header, const Bindings& bindings) {
  for (const auto& [name, kind] : bindings) {
    const auto is_name = [&](const DTypeParameter& p) { return p.name == name; };
    const auto found = std::find_if(header.dtypes.begin(), header.dtypes.end(), is_name);
    if (found == header.dtypes.end()) {
      std::string known;
      for (const DTypeParameter& p : header.dtypes) known += (known.empty() ? "" : ", ") + p.name;
      throw UserError(ErrorKind::type,
                      "program " + header.program + " has no dtype parameter " + name +
                          "; legal: " + (known.empty() ? "none, it declares none" : known));
    }
    found->kind = kind;
  }
  return header;
}

}  // namespace

Graph rebind_dtypes(const Graph& graph, const Bindings& bindings) {
  GraphBuilder builder(rebound(graph.header(), bindings));
  for (const Node& node : graph.nodes()) {
    builder.add(rebound(node.op, bindings), node.inputs, node.name, node.where);
  }
  for (const Group& group : graph.groups()) builder.add_group(group);
  for (const Output& output : graph.outputs()) builder.add_output(output.name, output.node);
  return std::move(builder).finish();
}

}  // namespace coconet
