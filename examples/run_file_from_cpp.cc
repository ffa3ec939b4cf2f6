// A program and a schedule of a file, run and verified from C++; then a server's loop, whose
// weights change now and then.
#include <algorithm>
#include <cstdio>

#include "coconet/base/error.h"
#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/execute/verify.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

using namespace coconet;

namespace {

void need(bool fine, const std::string& what) {
  if (!fine) throw UserError(ErrorKind::data, "wrong: " + what);
}

// This rank's piece; UserError if it is no f32.
std::span<float> floats(execute::RankCalls& rank, const std::string& name) {
  const std::span<std::byte> bytes = rank.own(name, DTypeKind::f32);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// out = x w + b + r, as nothing is dropped.
void serve(execute::RankCalls& rank) {
  rank.hold_constant("w");  // packed in the first call, kept for the next ones
  for (int call = 0; call < 3; ++call) {
    std::ranges::fill(floats(rank, "x"), static_cast<float>(call));
    rank.call();
  }
  std::ranges::fill(floats(rank, "w"), 0.f);
  rank.hold_constant("w");  // other values: without this the calls may go on with the old ones
  rank.call();
  const auto out = floats(rank, "out"), b = floats(rank, "b"), r = floats(rank, "r");
  for (std::size_t i = 0; i < out.size(); ++i) need(out[i] == b[i % b.size()] + r[i], "out");
}

void run() {
  const std::string path = "examples/attention.coco";
  std::string text;
  read_file(path, &text);  // the File that it gives has T as f16, the default there
  const File file = parse_file(text, path, {.dtypes = {{"T", DTypeKind::f32}}});
  const Graph& program = file.program("attention");
  const Applied applied = apply(program, file.schedule("attention", "fused"));

  execute::RunRequest plain, request;
  plain.setting.mesh = MeshSizes{{2}};
  plain.setting.sizes = {{"B", 2}, {"S", 4}, {"H", 8}};
  plain.kind = runtime::RankKind::thread;  // of this process, which may have other threads then
  request = plain;
  execute::GlobalTensors tensors = {{"rate", TensorData::zeros(DTypeKind::f32, {})}};
  execute::draw_missing(program, plain.setting, tensors);
  plain.inputs = execute::distribute(program, tensors, plain.setting);
  request.inputs = execute::distribute(applied.graph, tensors, plain.setting);

  const runtime::Toolchain toolchain;
  const execute::Compiled compiled(applied.graph, {.schedule = "fused"}, toolchain);
  const execute::RunResult result = execute::run(compiled, request);
  const execute::CompiledForVerify checked(program, applied.graph, applied.exactness, toolchain);
  const execute::Verification found = execute::verify(checked, plain, request, result);
  need(found.within_bound, found.first_outside);
  need(found.outputs.at("out").bit_equal_to_unscheduled, found.outputs.at("out").first_difference);
  execute::run_on_ranks(compiled, request, serve);
}

}  // namespace

int main() {
  try {
    run();
    std::printf("attention, fused: verified, and served\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
