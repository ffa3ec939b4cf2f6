// Our ranks: one compiled program, placed once and called as often as the harness wants. Inputs and
// outputs stand in the symmetric heap.
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>

#include "bench/worker/half.h"
#include "bench/worker/inputs.h"
#include "bench/worker/serve.h"
#include "bench/worker/use.h"
#include "coconet/execute/run.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/type/piece.h"
#include "coconet_paths.h"

namespace coconet::bench {
namespace {

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// What the programs below have in common: a compiled program, and one rank of it.
class Program : public Operations {
 public:
  // The names of what stands for gradients, and of what every rank gets.
  Program(execute::RankCalls& calls, std::int64_t elements, int ranks, const std::string& input,
          const std::string& output)
      : calls_(calls),
        elements_(elements),
        ranks_(ranks),
        input_(calls.own(input)),
        output_(floats(calls.own(output))) {}

  void use_buffers(const std::string&) override { use(std::as_bytes(output_), input_); }

  std::function<void()> operation(const std::string& name) override {
    if (name != "call") throw std::runtime_error("no operation " + name);
    return [this] { calls_.call(); };
  }

 protected:
  void fill_gradients() {
    const std::span<float> g = floats(input_);
    for (std::int64_t i = 0; i < elements_; ++i) g[i] = gradient(calls_.rank(), i);
  }

  execute::RankCalls& calls_;
  std::int64_t elements_;
  int ranks_;
  std::span<std::byte> input_;
  std::span<float> output_;
};

class AllReduce : public Program {
 public:
  AllReduce(execute::RankCalls& calls, std::int64_t elements, int ranks)
      : Program(calls, elements, ranks, "x", "y") {}
  double check(const std::string& name) override {
    fill_gradients();
    for (float& element : output_) element = -1;
    operation(name)();
    double out = 0;
    for (std::int64_t i = 0; i < elements_; i += compared_step(elements_))
      out = worse(out, output_[i], total(ranks_, i));
    return out;
  }
};

class Adam : public Program {
 public:
  // `of`: the gradients, in f16 if short_gradient.
  Adam(execute::RankCalls& calls, std::int64_t elements, int ranks, decltype(gradient)& of)
      : Program(calls, elements, ranks, "g", "p"), of_(of) {}
  double check(const std::string& name) override {
    if (&of_ == &short_gradient) {
      fill_short_gradients();
    } else {
      fill_gradients();
    }
    const std::span<float> m = floats(calls_.own("m")), v = floats(calls_.own("v"));
    const std::int64_t first = first_of_state();
    for (std::int64_t i = 0; i < elements_; ++i) output_[i] = parameter(i);
    for (std::size_t i = 0; i < m.size(); ++i) {
      m[i] = first_moment(first + static_cast<std::int64_t>(i));
      v[i] = second_moment(first + static_cast<std::int64_t>(i));
    }
    operation(name)();
    double out = 0;
    for (std::int64_t i = 0; i < elements_; i += compared_step(elements_)) {
      out = worse(out, output_[i], adam_expected({}, ranks_, i, of_).p);
    }
    for (std::size_t i = 0; i < m.size(); i += compared_step(elements_)) {
      const auto want = adam_expected({}, ranks_, first + static_cast<std::int64_t>(i), of_);
      out = worse(worse(out, m[i], want.m), v[i], want.v);
    }
    return out;
  }

 private:
  void fill_short_gradients() {
    auto* const g = reinterpret_cast<Half*>(input_.data());
    for (std::int64_t i = 0; i < elements_; ++i) g[i] = half_of(short_gradient(calls_.rank(), i));
  }

  // The state is sliced by (*).
  std::int64_t first_of_state() const {
    constexpr std::int64_t kBlock = 1024;
    return cut(elements_, ranks_, calls_.rank(), kBlock).begin;
  }

  decltype(gradient)& of_;
};

interp::Pieces scalar_pieces(const void* value, std::size_t bytes, int ranks) {
  const auto* from = static_cast<const std::byte*>(value);
  return interp::Pieces(static_cast<std::size_t>(ranks), interp::Bytes(from, from + bytes));
}

Graph scheduled(const std::string& path, const std::string& schedule, DTypeKind gradients) {
  std::string text;
  read_file(path, &text);
  const File file = parse_file(text, path, {.dtypes = {{"G", gradients}}});
  const Graph& graph = file.program();
  if (schedule.empty()) return graph;
  return apply(graph, file.schedule(graph.header().program, schedule)).graph;
}

void run(const Arguments& arguments) {
  const bool adam = arguments.text("program") == "adam";
  const std::int64_t elements = arguments.number("elements");
  const int ranks = static_cast<int>(arguments.number("ranks", 2));
  const DTypeKind dtype = arguments.text("dtype") == "f16" ? DTypeKind::f16 : DTypeKind::f32;
  const std::string root = kSourceDir;
  const Graph graph = adam ? scheduled(root + "/examples/adam.coco", "sharded", dtype)
                           : scheduled(root + "/bench/programs/all_reduce.coco", "", dtype);
  const execute::Compiled compiled(graph, {}, runtime::Toolchain());
  execute::RunRequest request;
  request.setting.mesh = MeshSizes{{ranks}};
  request.setting.sizes = {{"N", elements}};
  request.check_inputs = false;  // the ranks fill them in
  if (adam) {
    const AdamScalars with;
    const std::int32_t step = with.step;
    request.inputs["t"] = scalar_pieces(&step, sizeof step, ranks);
    request.inputs["lr"] = scalar_pieces(&with.lr, sizeof with.lr, ranks);
  }
  execute::run_on_ranks(compiled, request, [&](execute::RankCalls& calls) {
    pin(arguments, calls.rank());
    std::unique_ptr<Operations> operations;
    if (adam) {
      operations = std::make_unique<Adam>(calls, elements, ranks,
                                          dtype == DTypeKind::f16 ? short_gradient : gradient);
    } else {
      operations = std::make_unique<AllReduce>(calls, elements, ranks);
    }
    serve(arguments, calls.rank(), *operations);
  });
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  try {
    coconet::bench::run(coconet::bench::Arguments(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
