// The floor of a matrix product with what follows it: the product alone, on each rank its own part.
#include <stdexcept>

#include "bench/worker/arrays.h"
#include "bench/worker/gemm.h"
#include "bench/worker/half.h"
#include "bench/worker/product.h"

namespace coconet::bench {
namespace {

class Products : public Operations {
 public:
  Products(const Arguments& arguments, int rank)
      : problem_(problem_of(arguments)), rank_(rank), bf16_(arguments.text("dtype") == "bf16") {
    x_ = filled(problem_.m * problem_.k, product_x);
    w_ = filled(problem_.k * problem_.n, product_w);
    out_ = arrays_.make<float>(problem_.m * problem_.n);
    gemm_ = std::make_unique<Gemm>(problem_.m, problem_.n, problem_.k, bf16_, x_, w_, out_);
  }
  std::function<void()> operation(const std::string& name) override {
    if (name != "gemm") throw std::runtime_error("no operation " + name);
    return [this] { gemm_->run(); };
  }
  void use_buffers(const std::string&) override {}

  double check(const std::string& name) override {
    operation(name)();
    double worst = 0;
    for (std::int64_t i = 0; i < problem_.m * problem_.n; i += 1 + problem_.m * problem_.n / 97) {
      double want = 0;
      for (std::int64_t k = 0; k < problem_.k; ++k) {
        want += product_x(rank_, i / problem_.n * problem_.k + k) *
                product_w(rank_, k * problem_.n + i % problem_.n);
      }
      worst = worse(worst, bf16_ ? widened(reinterpret_cast<Bf16*>(out_)[i]) : out_[i], want);
    }
    return worst;
  }

 private:
  float* filled(std::int64_t count, decltype(product_x)& of) {
    float* const out = arrays_.make<float>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (bf16_) reinterpret_cast<Bf16*>(out)[i] = bf16_of(of(rank_, i));
      if (!bf16_) out[i] = of(rank_, i);
    }
    return out;
  }

  Problem problem_;
  int rank_;
  bool bf16_;
  Arrays arrays_{true};
  float *x_, *w_, *out_;  // of bf16 half as long
  std::unique_ptr<Gemm> gemm_;
};

void run(const Arguments& arguments) {
  serve_ranks(arguments, [&](int rank) { return std::make_unique<Products>(arguments, rank); });
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  return exit_code_of(argv[0], [&] { run(Arguments(argc, argv)); });
}
