#include <cstdint>

#include "coconet/plan/plan.h"

namespace coconet::plan {
namespace {

std::string value_text(ValueId id) { return "%" + std::to_string(id.index); }

std::string arguments(const std::vector<ValueId>& inputs) {
  std::string out = "(";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out += (i > 0 ? ", " : "") + value_text(inputs[i]);
  }
  return out + ")";
}

std::string axes_text(const Mesh& mesh, const AxisList& axes) {
  std::string out;
  for (int axis : axes) out += (out.empty() ? "" : ",") + mesh.axes[axis];
  return axes.size() == 1 ? out : "[" + out + "]";
}

std::string chunks_text(int chunks) {
  return std::to_string(chunks) + (chunks == 1 ? " chunk" : " chunks");
}

std::string constant_text(const Constant& constant) {
  return std::visit(Overloaded{
                        [](bool value) { return std::string(value ? "true" : "false"); },
                        [](std::int64_t value) { return std::to_string(value); },
                        [](double value) {
                          char text[32];
                          std::snprintf(text, sizeof text, "%.17g", value);
                          return std::string(text);
                        },
                    },
                    constant.value);
}

class Printer {
 public:
  explicit Printer(const Plan& plan) : plan_(plan), mesh_(plan.graph.mesh()) {}

  std::string text() {
    out_ = "plan of " + plan_.graph.header().program;
    out_ += plan_.schedule.empty() ? ", unscheduled" : ", schedule " + plan_.schedule;
    out_ += " on " + mesh_.text() + "\n";
    for (const Buffer& buffer : plan_.buffers) print_buffer(buffer);
    for (int l = 0; l < static_cast<int>(plan_.launches.size()); ++l) print_launch(l);
    if (!plan_.exit_waits.empty()) out_ += "exit" + waits_text(plan_.exit_waits) + "\n";
    for (const std::string& note : plan_.notes) out_ += "note " + note + "\n";
    for (const PlanOutput& output : plan_.outputs) {
      out_ += "output " + output.name + " = " + name(output.buffer) + "\n";
    }
    return out_;
  }

  std::string launch_text(LaunchId id) {
    print_launch(id.index);
    return out_;
  }

 private:
  std::string name(BufferId id) const { return plan_.buffer(id).name; }

  void print_buffer(const Buffer& buffer) {
    static constexpr const char* kRoles[] = {"input", "state", "scalar", "temporary"};
    out_ += "buffer " + buffer.name + ": " + buffer.type.text(mesh_) + " " +
            kRoles[static_cast<int>(buffer.role)];
    out_ += buffer.of_caller   ? " in memory of the caller's"
            : buffer.symmetric ? " symmetric"
                               : " private";
    if (buffer.role == BufferRole::temporary) out_ += " slot " + std::to_string(buffer.slot);
    if (buffer.ring > 0) out_ += ", a ring of " + chunks_text(buffer.ring);
    out_ += "\n";
  }

  std::string waits_text(const std::vector<Wait>& waits) const {
    std::string out;
    for (const Wait& wait : waits) {
      out += out.empty() ? " waits for " : ", ";
      if (wait.same_chunk && wait.behind == 0) out += "this chunk of ";
      if (wait.behind > 0) out += "the chunk " + std::to_string(wait.behind) + " before of ";
      out += wait.on.valid() ? std::to_string(wait.on.index) : "entry";
      out += "@" + axes_text(mesh_, wait.axes);
    }
    return out;
  }

  void print_launch(int index) {
    const Launch& launch = plan_.launches[index];
    for (const OverlapGroup& group : plan_.overlaps) {
      if (group.first.index == index) {
        out_ += "overlapped " + group.name + " of launches " + std::to_string(index) + ".." +
                std::to_string(group.last.index) + " in chunks of slice " + group.slice.text() +
                "@" + axes_text(mesh_, group.axes) + "\n";
      }
    }
    out_ += "launch " + std::to_string(index) + " " + launch.name;
    if (launch.where.known()) out_ += " (line " + std::to_string(launch.where.line) + ")";
    if (launch.lag > 0) out_ += " lag " + std::to_string(launch.lag);
    out_ += waits_text(launch.waits) + "\n";
    std::visit(Overloaded{
                   [&](const Kernel& kernel) { print_kernel(kernel); },
                   [&](const MatmulLaunch& matmul) {
                     out_ += "  " + name(matmul.out) + " = matmul(" + name(matmul.a) + ", " +
                             name(matmul.b) + (matmul.ta ? ", ta=true" : "") +
                             (matmul.tb ? ", tb=true" : "") + ")\n";
                   },
                   [&](const Conv2dLaunch& conv) { print_conv2d(conv); },
                   [&](const ReduceLaunch& reduce) { print_reduce(reduce); },
                   [&](const MoveLaunch& move) { print_move(move); },
               },
               launch.work);
  }

  void print_conv2d(const Conv2dLaunch& conv) {
    out_ += "  " + name(conv.out) + " = conv2d(" + name(conv.x) + ", " + name(conv.w) +
            ", stride=" + std::to_string(conv.op.stride) +
            ", padding=" + std::to_string(conv.op.padding) + ")\n";
  }

  void print_move(const MoveLaunch& move) {
    std::string text;
    for (BufferId in : move.in) text += (text.empty() ? "" : ", ") + name(in);
    if (!move.order.empty()) {
      std::string order;
      for (int dim : move.order) order += (order.empty() ? "" : ",") + std::to_string(dim);
      text += " with dims [" + order + "]";
    } else if (move.dim) {
      text += " along dim " + std::to_string(*move.dim) + " from " + move.start.text() + " on";
    }
    out_ += "  " + name(move.out) + " = elements of " + text + "\n";
  }

  void print_reduce(const ReduceLaunch& reduce) {
    std::string dims;
    for (int dim : reduce.dims) dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
    out_ += "  " + name(reduce.out) + " = " + std::string(name_of(reduce.fn)) + "(" +
            name(reduce.in) + ", [" + dims + "])\n";
  }

  void print_kernel(const Kernel& kernel) {
    static constexpr const char* kWidths[] = {"the piece", "a row", "a block"};
    const std::string place = kernel.space.layout.text(mesh_);
    out_ += "  for each element of " + text_of(kernel.space.shape) +
            (place.empty() ? "" : " " + place) + ", runs of " +
            kWidths[static_cast<int>(kernel.width)] + "\n";
    for (int i = 0; i < static_cast<int>(kernel.statements.size()); ++i) {
      const Statement& statement = kernel.statements[i];
      static constexpr const char* kLevels[] = {"call ", "run ", ""};
      out_ += "    " + value_text(ValueId{i}) + ": " + kLevels[static_cast<int>(statement.level)] +
              std::string(name_of(statement.dtype.kind)) + " = " + action_text(statement) + "\n";
    }
    for (const Store& store : kernel.stores) {
      out_ += "    " + name(store.buffer) + " <- " + value_text(store.value);
      if (store.all) out_ += " to all ranks of " + axes_text(mesh_, *store.all);
      if (store.held) out_ += " that hold it";
      if (store.to) out_ += " to " + receiver_text(*store.to);
      out_ += "\n";
    }
  }

  std::string receiver_text(const Shift& shift) const {
    return "the rank " + std::to_string(shift.by) + " further on " + mesh_.axes[shift.axes[0]] +
           (shift.wrap ? ", around its end" : ", zeros where none sends");
  }

  std::string compute_text(const Compute& compute, const Statement& statement) const {
    if (const auto* constant = std::get_if<Constant>(&compute.op)) return constant_text(*constant);
    if (const auto* size = std::get_if<AxisSize>(&compute.op)) {
      return "size(" + mesh_.axes[size->axis] + ")";
    }
    if (const auto* size = std::get_if<DimSize>(&compute.op)) {
      return "size(" + size->dim.text() + ")";
    }
    std::string word(name_of(compute.op));
    if (const auto* pointwise = std::get_if<Pointwise>(&compute.op)) {
      word = std::string(name_of(pointwise->fn));
    }
    if (const auto* dropout = std::get_if<Dropout>(&compute.op)) {
      word += "[site " + std::to_string(dropout->site) + "]";
    }
    return word + arguments(statement.inputs);
  }

  std::string action_text(const Statement& statement) const {
    const std::string peer = statement.per_peer ? " of the peer" : "";
    return std::visit(
        Overloaded{
            [&](const Load& load) { return "load " + name(load.buffer) + peer; },
            [&](const FoldPeers& fold) {
              return "fold " + std::string(name_of(fold.fold)) + " of " +
                     value_text(statement.inputs[0]) + " over the ranks of " +
                     axes_text(mesh_, fold.axes);
            },
            [&](const Compute& compute) { return compute_text(compute, statement) + peer; },
            [&](const ReduceRun& reduce) {
              return "fold " + std::string(name_of(reduce.fold)) + " of " +
                     value_text(statement.inputs[0]) + " along the run";
            },
            [&](const Count& count) { return "count " + text_of(count.shape); },
            [&](const FoldBuffer& fold) {
              const std::string of = plan_.is_across_members(fold)       ? " across its members"
                                     : statement.level == Level::element ? " of the member"
                                                                         : "";
              return "fold " + std::string(name_of(fold.fold)) + " of " + name(fold.buffer) + of;
            },
        },
        statement.action);
  }

  const Plan& plan_;
  const Mesh& mesh_;
  std::string out_;
};

}  // namespace

std::string print(const Plan& plan) { return Printer(plan).text(); }

std::string print_launch(const Plan& plan, LaunchId id) { return Printer(plan).launch_text(id); }

std::uint64_t hash_of(const Plan& plan) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (unsigned char c : print(plan)) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

}  // namespace coconet::plan
