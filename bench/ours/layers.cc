#include "bench/ours/ours.h"
#include "bench/worker/half.h"
#include "bench/worker/product.h"
#include "bench/worker/rows.h"

namespace coconet::bench {
namespace {

class Rows : public Ours {
 public:
  Rows(execute::RankCalls& calls, const Problem& problem, int ranks)
      : Ours(calls, ranks), m_(problem.m), n_(problem.n) {}
  void use_buffers(const std::string&) override { use_between_calls({"added", "out"}, "x"); }

 private:
  void fill() override {
    const auto x = own<Bf16>("x"), r = own<Bf16>("r"), gamma = own<Bf16>("gamma");
    for (std::int64_t i = 0; i < m_ * n_; ++i) {
      x[i] = bf16_of(row_part(calls_.rank(), i));
      r[i] = bf16_of(row_residual(i));
    }
    for (std::int64_t j = 0; j < n_; ++j) gamma[j] = bf16_of(row_gamma(j));
  }
  double difference() override {
    const auto added = own<Bf16>("added"), out = own<Bf16>("out");
    double worst = 0;
    for (std::int64_t row = 0; row < m_; ++row) {
      worst = std::max(worst, row_difference(&added[row * n_], &out[row * n_], ranks_, row, n_));
    }
    return worst;
  }

  std::int64_t m_, n_;
};

// T is float or Bf16.
template <class T>
class Product : public Ours {
 public:
  Product(execute::RankCalls& calls, bool constant, const Problem& problem, int ranks)
      : Ours(calls, ranks), problem_(problem), constant_(constant) {}
  void use_buffers(const std::string&) override { use_between_calls({"out"}, "x"); }

 private:
  static T of(float value) {
    if constexpr (sizeof(T) == 4)
      return value;
    else
      return bf16_of(value);
  }
  static double number(T value) {
    if constexpr (sizeof(T) == 4)
      return static_cast<double>(value);
    else
      return static_cast<double>(widened(value));
  }

  void fill() override {
    const auto x = own<T>("x"), w = own<T>("w"), b = own<T>("b"), r = own<T>("r");
    const int rank = calls_.rank();
    for (std::int64_t i = 0; i < problem_.m * problem_.k; ++i) x[i] = of(product_x(rank, i));
    for (std::int64_t i = 0; i < problem_.k * problem_.n; ++i) w[i] = of(product_w(rank, i));
    for (std::int64_t i = 0; i < problem_.n; ++i) b[i] = of(product_bias(i));
    for (std::int64_t i = 0; i < problem_.m * problem_.n; ++i) r[i] = of(product_residual(i));
    if (constant_) calls_.hold_constant("w");
  }
  double difference() override {
    const auto out = own<T>("out");
    return product_difference(problem_, ranks_, [&](std::int64_t i) { return number(out[i]); });
  }

  Problem problem_;
  bool constant_;
};

}  // namespace

std::unique_ptr<Operations> our_rows(execute::RankCalls& calls, const Problem& problem, int ranks) {
  return std::make_unique<Rows>(calls, problem, ranks);
}

std::unique_ptr<Operations> our_product(execute::RankCalls& calls, bool bf16, bool constant,
                                        const Problem& problem, int ranks) {
  if (bf16) return std::make_unique<Product<Bf16>>(calls, constant, problem, ranks);
  return std::make_unique<Product<float>>(calls, constant, problem, ranks);
}

}  // namespace coconet::bench
