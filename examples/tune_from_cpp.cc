// A program tuned from C++ for its sizes, then run as was found; and a choice that picks by size.
#include <algorithm>
#include <cstdio>

#include "coconet/base/error.h"
#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/graph/print.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/tune/decision.h"

using namespace coconet;

namespace {

void need(bool fine, const std::string& what) {
  if (!fine) throw UserError(ErrorKind::data, "wrong: " + what);
}

// `schedule` with its knobs; without steps it is the unscheduled program.
execute::RunResult run_under(const Graph& program, const Schedule& schedule, const Knobs& knobs,
                             const execute::GlobalTensors& tensors,
                             const interp::Setting& setting) {
  const Applied applied = apply(program, schedule);
  const execute::Compiled compiled(applied.graph, {.schedule = schedule.name},
                                   runtime::Toolchain());
  execute::RunRequest request;
  request.setting = setting;
  request.inputs = execute::distribute(applied.graph, tensors, setting);
  request.knobs = knobs;
  return execute::run(compiled, request);
}

void run() {
  const File file = read_file("examples/sgd.coco");
  const Graph& program = file.program();
  interp::Setting setting;
  setting.mesh = MeshSizes{{2}};
  setting.sizes = {{"N", 5000}};
  execute::GlobalTensors tensors;
  execute::draw_missing(program, setting, tensors);

  // Some seconds the first time; then what has been kept. The file's own schedules are measured
  // too.
  const tune::Decision found =
      tune::decide(program, tensors, setting, {.schedules = file.schedules});
  const execute::RunResult tuned =
      run_under(program, found.schedule, found.knobs, tensors, setting);
  const execute::RunResult plain = run_under(program, {}, {}, tensors, setting);
  need(tuned.outputs.at("p2") == plain.outputs.at("p2"), "p2");

  // What `coconet tune --sweep` writes has a choice.
  const std::string sizes = "choice by_size for sgd { N <= 64: unscheduled else: sharded }";
  const File several =
      parse_file(print(program) + text_of(file.schedule("sgd", "sharded")) + sizes);
  const Case& one = pick(*several.choice("sgd", "by_size"), setting.sizes);
  const execute::RunResult picked =
      run_under(program, several.schedule("sgd", one.schedule), one.knobs, tensors, setting);
  need(picked.outputs.at("p2") == plain.outputs.at("p2"), "p2 of what was picked");
}

}  // namespace

int main() {
  try {
    run();
    std::printf("sgd: tuned, and run with the bits of the unscheduled program\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
