#include "coconet/source/cpp/run_text.h"

#include <set>

#include "coconet/plan/one_shot.h"
#include "coconet/source/cpp/kernel_text.h"

namespace coconet::source::cpp {

using plan::Conv2dLaunch;
using plan::Kernel;
using plan::Launch;
using plan::LaunchId;
using plan::MatmulLaunch;
using plan::OverlapGroup;
using plan::Wait;

namespace {

class RunPrinter {
 public:
  RunPrinter(const plan::Plan& plan, Pieces& pieces) : plan_(plan), pieces_(pieces) {}

  std::string text() {
    out_ = "Status run(const Call& call, std::int64_t* ticks) {\n";
    line("  ", "const Ranks ranks(call, " + std::to_string(plan_.graph.mesh().size()) + ");");
    for (const std::string& group : groups()) line("  ", group);
    print_one_shot();
    line("  ", "std::int64_t tick = 0;  // the last one done");
    for (int l = 0; l < static_cast<int>(plan_.launches.size());) {
      const int group = plan_.launches[l].overlap;
      if (group < 0) {
        print_launch(l++);
      } else {
        print_group(plan_.overlaps[group], group);
        l = plan_.overlaps[group].last.index + 1;
      }
    }
    if (!plan_.exit_waits.empty()) {
      line("  ", "// complete here, and no longer read or written by peers");
      for (const Wait& wait : plan_.exit_waits) print_wait(wait, "  ", "tick", -1, "0");
    }
    line("  ", "*ticks = tick;");
    line("  ", "return kOk;");
    return out_ + "}\n\n";
  }

 private:
  void line(const std::string& indent, const std::string& text) { out_ += indent + text + "\n"; }

  std::set<std::string> groups() const {
    std::set<std::string> out;
    const auto add = [&](const AxisList& axes) {
      out.insert("const Peers " + peers_name(plan_.graph.mesh(), axes) + " = ranks.peers(" +
                 axes_text(axes) + ");");
    };
    for (const Launch& launch : plan_.launches) {
      for (const Wait& wait : launch.waits) add(wait.axes);
    }
    for (const Wait& wait : plan_.exit_waits) add(wait.axes);
    return out;
  }

  // The tick at which a launch is done: all of it, or one chunk of it; that of the entry.
  std::string tick_of(LaunchId id, bool same_chunk, const std::string& chunk) const {
    if (!id.valid()) return "0";
    const Launch& launch = plan_.launch(id);
    const std::string done = "done_" + std::to_string(id.index);
    if (launch.overlap < 0) return done;
    return done + "(" + (same_chunk ? chunk : chunks_name(launch.overlap) + ".count - 1") + ")";
  }

  static std::string chunks_name(int group) { return "chunks_" + std::to_string(group); }

  void print_wait(const Wait& wait, const std::string& indent, const std::string& tick, int launch,
                  std::string chunk) {
    const std::string behind = std::to_string(wait.behind);
    const std::string when = wait.behind > 0 ? "if (chunk >= " + behind + ") " : "";
    if (wait.behind > 0) chunk += " - " + behind;
    line(indent, when + "COCONET_TRY(wait_for(call, " + peers_name(plan_.graph.mesh(), wait.axes) +
                     ", " + tick_of(wait.on, wait.same_chunk, chunk) + ", " + tick + ", " +
                     std::to_string(launch) + "));");
  }

  void print_launch(int l) {
    const Launch& launch = plan_.launches[l];
    const std::string done = "done_" + std::to_string(l);
    line("  ", "// launch " + std::to_string(l) + ": " + launch.name);
    line("  ", "[[maybe_unused]] const std::int64_t " + done + " = ++tick;");
    for (const Wait& wait : launch.waits) print_wait(wait, "  ", done, l, "0");
    const Kernel* kernel = std::get_if<Kernel>(&launch.work);
    line("  ", "COCONET_TRY(" +
                   (kernel ? kernel_call(l, *kernel, pieces_.of(kernel->space))
                           : "launch_" + std::to_string(l) + "(ranks)") +
                   ");");
    if (launch.signals) line("  ", "signal(call, " + done + ");");
  }

  // `turn`: see touches_ring; or "".
  static std::string launch_call(int l, const std::string& ranks, const std::string& rows,
                                 const std::string& turn) {
    return "launch_" + std::to_string(l) + "(" + ranks + ", " + rows +
           (turn.empty() ? "" : ", " + turn) + ")";
  }

  // The launch of a kernel on a space, by the threads of the rank unless it is done once.
  static std::string kernel_call(int l, const Kernel& kernel, const std::string& space,
                                 const std::string& turn = "") {
    const std::string cut = run_cut_text(kernel);
    if (cut.empty()) return launch_call(l, "ranks", space, turn);
    const std::string launch = turn.empty() ? "launch_" + std::to_string(l)
                                            : "[&](const Ranks& of, const Space& part) { return " +
                                                  launch_call(l, "of", "part", turn) + "; }";
    return "divided(ranks, " + space + ", " + cut + ", " + launch + ")";
  }

  // By one thread: all of every launch, without a wait but for peers that have read this rank's
  // inputs.
  void print_one_shot() {
    if (!plan::allows_one_shot(plan_) || plan_.exit_waits.empty()) return;
    line("  ", "if (call.one_shot) {");
    for (int l = 0; l < static_cast<int>(plan_.launches.size()); ++l) {
      const Kernel* kernel = std::get_if<Kernel>(&plan_.launches[l].work);
      const std::string space = kernel ? ", " + pieces_.of(plan::one_shot_space(*kernel)) : "";
      line("    ", "COCONET_TRY(launch_" + std::to_string(l) + "(ranks" + space + "));");
    }
    line("    ", "*ticks = 1;");
    line("    ", "if (call.exchanged) return kOk;");
    line("    ", "signal(call, 1);");
    for (const Wait& wait : plan_.exit_waits) {
      line("    ", "COCONET_TRY(wait_for(call, " + peers_name(plan_.graph.mesh(), wait.axes) +
                       ", 1, 1, -1));");
    }
    line("    ", "return kOk;");
    line("  ", "}");
  }

  // The rows that chunks are made of, in the launches' tensors.
  std::string rows_text(const OverlapGroup& group) const {
    for (int l = group.first.index; l <= group.last.index; ++l) {
      const Kernel* kernel = std::get_if<Kernel>(&plan_.launches[l].work);
      if (!kernel) continue;
      const Shape& shape = kernel->space.shape;
      if (group.slice.flat) return "blocks_of(" + product_text(plan_, shape) + ")";
      return product_text(plan_, {shape.begin(), shape.begin() + group.slice.last + 1});
    }
    throw InternalError("an overlapped group has a kernel");
  }

  bool works_on_own_slice(const Launch& launch, const OverlapGroup& group) const {
    const Kernel* kernel = std::get_if<Kernel>(&launch.work);
    const MatmulLaunch* matmul = std::get_if<MatmulLaunch>(&launch.work);
    const Conv2dLaunch* conv = std::get_if<Conv2dLaunch>(&launch.work);
    if (group.axes.empty() || (!kernel && !matmul && !conv)) return false;
    const Layout& layout =
        kernel ? kernel->space.layout : plan_.buffer(matmul ? matmul->out : conv->out).type.layout;
    return layout.is<Sliced>(group.axes[0]) && layout.slice(group.axes[0]) == group.slice;
  }

  void print_group(const OverlapGroup& group, int index) {
    const std::string chunks = chunks_name(index);
    const int members = group.last.index - group.first.index + 1;
    const int lag = plan_.launch(group.last).lag;
    check(group.axes.size() <= 1, "slices of an overlapped group are of one axis");
    const std::string axis = group.axes.empty() ? "" : std::to_string(group.axes[0]);
    line("  ", "// overlapped " + group.name + ": launches " + std::to_string(group.first.index) +
                   " to " + std::to_string(group.last.index) + ", chunk by chunk");
    line("  ", "const Chunks " + chunks + "(" + rows_text(group) + ", " +
                   (axis.empty() ? "1" : "ranks.sizes[" + axis + "]") + ", call.knobs[" +
                   std::to_string(group.knob) + "]);");
    for (int l = group.first.index; l <= group.last.index; ++l) {
      const int m = l - group.first.index;
      line("  ", "[[maybe_unused]] const auto done_" + std::to_string(l) +
                     " = [base = tick](std::int64_t chunk) { return base + (chunk + " +
                     std::to_string(plan_.launches[l].lag) + ") * " + std::to_string(members) +
                     " + " + std::to_string(m + 1) + "; };");
    }
    line("  ", "for (std::int64_t beat = 0; beat < " + chunks + ".count + " + std::to_string(lag) +
                   "; ++beat) {");
    for (int l = group.first.index; l <= group.last.index; ++l) print_chunk(l, group, chunks, axis);
    line("  ", "}");
    line("  ", "tick += (" + chunks + ".count + " + std::to_string(lag) + ") * " +
                   std::to_string(members) + ";");
  }

  // From rows to indices of the dims that are cut.
  static std::string range_text(const OverlapGroup& group, const std::string& begin,
                                const std::string& count) {
    const std::string scale = group.slice.flat ? " * kBlockElements" : "";
    return begin + scale + ", " + count + scale;
  }

  void print_chunk(int l, const OverlapGroup& group, const std::string& chunks,
                   const std::string& axis) {
    const Launch& launch = plan_.launches[l];
    const std::string done = "done_" + std::to_string(l) + "(chunk)";
    line("    ", "// launch " + std::to_string(l) + ": " + launch.name);
    line("    ", "if (const std::int64_t chunk = beat - " + std::to_string(launch.lag) +
                     "; chunk >= 0 && chunk < " + chunks + ".count) {");
    for (const Wait& wait : launch.waits) print_wait(wait, "      ", done, l, "chunk");
    const auto turn = [&](const std::string& owner) {
      return touches_ring(plan_, l) ? "{" + chunks + ", " + owner + ", chunk}" : "";
    };
    const Kernel* kernel = std::get_if<Kernel>(&launch.work);
    // Of a kernel `rows` is a space.
    const auto call = [&](const std::string& rows, const std::string& turn) {
      return kernel ? kernel_call(l, *kernel, rows, turn) : launch_call(l, "ranks", rows, turn);
    };
    if (works_on_own_slice(launch, group)) {
      line("      ",
           "const Cut rows = " + chunks + ".of_slice(ranks.coordinates[" + axis + "], chunk);");
      const std::string range = range_text(group, "rows.begin", "rows.count");
      const std::string rows =
          kernel ? "rows_of(" + pieces_.of(kernel->space) + ", 0, " + range + ")" : range;
      line("      ", "COCONET_TRY(" + call(rows, turn("ranks.coordinates[" + axis + "]")) + ");");
    } else {
      line("      ", "COCONET_TRY(" + chunks +
                         ".of_all(chunk, [&](std::int64_t begin, std::int64_t count) {");
      const std::string range = range_text(group, "begin", "count");
      const int last = group.slice.flat && kernel ? kernel->space.rank() - 1 : group.slice.last;
      const std::string rows = kernel ? "rows_of(merged(" + pieces_.of(kernel->space) + ", " +
                                            std::to_string(last) + "), 0, " + range + ")"
                                      : range;
      line("      ", "  return " + call(rows, turn(chunks + ".owner_of(begin)")) + ";");
      line("      ", "}));");
    }
    if (launch.signals) line("      ", "signal(call, " + done + ");");
    line("    ", "}");
  }

  const plan::Plan& plan_;
  Pieces& pieces_;
  std::string out_;
};

}  // namespace

std::string run_text(const plan::Plan& plan, Pieces& pieces) {
  return RunPrinter(plan, pieces).text();
}

}  // namespace coconet::source::cpp
