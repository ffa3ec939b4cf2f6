// A rank's side of the harness for ranks that are not written in C++ (torch_worker.py), as a shared
// library.
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "bench/worker/expected.h"
#include "bench/worker/use.h"

namespace coconet::bench {
namespace {

class Called : public Operations {
 public:
  using Perform = void(const char*);
  using Check = double(const char*);
  Called(Perform* perform, Perform* use, Check* check)
      : perform_(perform), use_(use), check_(check) {}
  std::function<void()> operation(const std::string& name) override {
    return [this, name] { perform_(name.c_str()); };
  }
  void use_buffers(const std::string& name) override { use_(name.c_str()); }
  double check(const std::string& name) override { return check_(name.c_str()); }

 private:
  Perform* perform_;
  Perform* use_;
  Check* check_;
};

float value(const std::string& of, int ranks, std::int64_t i, const ExpectedStep& expected) {
  if (of == "gradient") return gradient(ranks, i);  // of this rank
  if (of == "total") return total(ranks, i);
  if (of == "parameter") return parameter(i);
  if (of == "first_moment") return first_moment(i);
  if (of == "second_moment") return second_moment(i);
  const StepValues step = expected.at(0, i);
  if (of == "p") return static_cast<float>(step.p);
  if (of == "m") return static_cast<float>(step.m);
  if (of == "v") return static_cast<float>(step.v);
  throw std::runtime_error("no value " + of);
}

}  // namespace
}  // namespace coconet::bench

extern "C" {

// As coconet::bench::serve, of these functions; 1 if it has printed why not.
int coconet_bench_serve(int argc, char** argv, int rank, void (*perform)(const char*),
                        void (*use)(const char*), double (*check)(const char*)) {
  using namespace coconet::bench;
  try {
    Called operations(perform, use, check);
    serve(Arguments(argc, argv), rank, operations);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// use.h
void coconet_bench_use(const void* outputs, std::int64_t output_bytes, void* inputs,
                       std::int64_t input_bytes) {
  coconet::bench::use(static_cast<const char*>(outputs), static_cast<std::size_t>(output_bytes),
                      static_cast<char*>(inputs), static_cast<std::size_t>(input_bytes));
}

// inputs.h, expected.h (Adam's p, m, v); `ranks` is the rank where `of` is "gradient".
int coconet_bench_values(const char* of, int ranks, std::int64_t count, float* out) {
  using namespace coconet::bench;
  try {
    const ExpectedStep expected(false, {.elements = count}, ranks, gradient);
    for (std::int64_t i = 0; i < count; ++i) out[i] = value(of, ranks, i, expected);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
}
