// Tensors of one's own, as a framework's, summed over four ranks in place, again and again.
#include <cstdio>
#include <numeric>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/execute/run.h"
#include "coconet/program/program.h"

using namespace coconet;

namespace {

constexpr int kRanks = 4;
constexpr std::int64_t kElements = 100000;

// y is the sum of the ranks' x.
Graph sum() {
  Program program("sum", Mesh{"world", {"dp"}});
  const Dim n = program.dim("N");
  const Tensor x = program.input("x", f32, {n}, local());
  program.returns({program.let("y", all_reduce(x, Fold::sum))});
  return program.graph();
}

void need(bool fine) {
  if (!fine) throw UserError(ErrorKind::data, "a wrong sum");
}

void run() {
  // x and y are the caller's: peers read x and write y, so that both are copied, chunk by chunk.
  const execute::Compiled compiled(sum(), {.staged = {"x", "y"}}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting.mesh = MeshSizes{{kRanks}};
  request.setting.sizes = {{"N", kElements}};
  execute::run_on_ranks(compiled, request, [](execute::RankCalls& rank) {
    for (int call = 1; call <= 3; ++call) {
      std::vector<float> tensor(kElements);  // other memory in each call
      std::iota(tensor.begin(), tensor.end(), static_cast<float>(call * rank.rank()));
      const std::span<std::byte> memory = std::as_writable_bytes(std::span(tensor));
      rank.bind("x", memory);
      rank.bind("y", memory);  // in place
      rank.call();
      need(tensor[0] == 6.f * static_cast<float>(call));  // call * (0 + 1 + 2 + 3)
      need(tensor[10] == tensor[0] + 4 * 10);
    }
  });
}

}  // namespace

int main() {
  try {
    run();
    std::printf("sums in place on %d ranks\n", kRanks);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
