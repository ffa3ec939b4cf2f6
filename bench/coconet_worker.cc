// Our ranks (ours/ours.h).
#include <stdexcept>

#include "bench/ours/ours.h"
#include "bench/worker/arrays.h"
#include "bench/worker/inputs.h"
#include "coconet/plan/staging.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet_paths.h"

namespace coconet::bench {
namespace {

// Where a workload's program stands, and its dtype parameter.
struct Source {
  const char* name;
  const char* file;
  const char* dtype;
};
constexpr Source kSources[] = {
    {"all_reduce", "bench/programs/all_reduce.coco", "T"},
    {"adam", "bench/programs/adam.coco", "G"},
    {"lamb", "bench/programs/lamb.coco", "G"},
    {"adam_list", "bench/programs/adam_list.coco", "G"},
    {"lamb_list", "bench/programs/lamb_list.coco", "G"},
    {"rms_norm", "bench/programs/rms_norm.coco", "T"},
    {"matmul", "bench/programs/matmul_epilogue.coco", "T"},
};

const Source& source_of(const std::string& name) {
  for (const Source& source : kSources) {
    if (source.name == name) return source;
  }
  throw std::runtime_error("no program " + name);
}

interp::Pieces scalar_pieces(const void* value, std::size_t bytes, int ranks) {
  const auto* from = static_cast<const std::byte*>(value);
  return interp::Pieces(static_cast<std::size_t>(ranks), interp::Bytes(from, from + bytes));
}

DTypeKind dtype_of(const std::string& name) {
  if (name == "f16") return DTypeKind::f16;
  return name == "bf16" ? DTypeKind::bf16 : DTypeKind::f32;
}

Graph scheduled(const Source& source, const std::string& schedule, DTypeKind dtype) {
  const std::string path = std::string(kSourceDir) + "/" + source.file;
  std::string text;
  read_file(path, &text);
  const File file = parse_file(text, path, {.dtypes = {{source.dtype, dtype}}});
  const Graph& graph = file.program();
  if (schedule == "none") return graph;
  return apply(graph, file.schedule(graph.header().program, schedule)).graph;
}

void run(const Arguments& arguments) {
  const std::string program = arguments.text("program");
  const Problem problem = problem_of(arguments);
  const int ranks = static_cast<int>(arguments.number("ranks", 2));
  const DTypeKind dtype = dtype_of(arguments.text("dtype"));
  const Graph graph = scheduled(source_of(program), arguments.text("schedule"), dtype);
  std::vector<std::string> staged;
  if (arguments.text("staged") == "yes") staged = plan::names_to_stage(graph);
  const execute::Compiled compiled(graph, {.staged = staged}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting.mesh = MeshSizes{{ranks}};
  Sizes& sizes = request.setting.sizes;
  if (problem.m > 0) {
    sizes = {{"M", problem.m}, {"N", problem.n}, {"K", problem.k * ranks}};
    if (problem.k == 0) sizes.erase("K");
  } else if (problem.members.empty()) {
    sizes = {{"N", problem.elements}};
  } else {
    sizes.lists = {{"N_i", problem.members}};
  }
  // As a rank of its peers has, unless asked for otherwise.
  request.threads = static_cast<int>(arguments.number("threads", 1));
  request.check_inputs = false;  // the ranks fill them in
  if (program.starts_with("adam") || program.starts_with("lamb")) {
    const StepScalars with;
    const std::int32_t step = with.step;
    request.inputs["t"] = scalar_pieces(&step, sizeof step, ranks);
    request.inputs["lr"] = scalar_pieces(&with.lr, sizeof with.lr, ranks);
  }
  execute::run_on_ranks(compiled, request, [&](execute::RankCalls& calls) {
    pin(arguments, calls.rank());
    Arrays arrays(true);  // as those of tuned peers
    for (const std::string& name : staged) {
      const std::size_t bytes = calls.bytes(name);
      calls.bind(name, {arrays.make<std::byte>(static_cast<std::int64_t>(bytes)), bytes});
    }
    const auto operations =
        program == "rms_norm" ? our_rows(calls, problem, ranks)
        : program == "matmul"
            ? our_product(calls, dtype == DTypeKind::bf16, arguments.text("weights") != "changing",
                          problem, ranks)
            : our_optimizer(calls, program, dtype == DTypeKind::f16, problem, ranks);
    serve(arguments, calls.rank(), *operations);
  });
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  return exit_code_of(argv[0], [&] { run(Arguments(argc, argv)); });
}
