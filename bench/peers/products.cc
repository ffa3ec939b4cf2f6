#include <algorithm>
#include <stdexcept>

#include "bench/peers/operations.h"
#include "bench/worker/gemm.h"
#include "bench/worker/half.h"
#include "bench/worker/product.h"
#include "bench/worker/use.h"
#include "coconet/kernel/dropout.h"

namespace coconet::bench {
namespace {

void put(float value, float& to) { to = value; }
void put(float value, Bf16& to) { to = bf16_of(value); }
float get(float value) { return value; }
float get(Bf16 value) { return widened(value); }

// T is float or Bf16.
template <class T>
class Product {
 public:
  Product(Library& library, const Problem& problem, bool huge)
      : library_(library),
        problem_(problem),
        count_(problem.m * problem.n),
        each_((problem.m + library.ranks() - 1) / library.ranks() * problem.n),
        arrays_(huge) {
    const std::int64_t whole = each_ * library.ranks(), of_x = problem.m * problem.k;
    x_ = arrays_.make<T>(of_x);
    part_ = arrays_.make<T>(whole);
    sum_ = arrays_.make<T>(whole);
    r_ = arrays_.make<T>(whole);
    bias_ = arrays_.make<T>(problem.n);
    out_ = arrays_.make<T>(whole);
    for (std::int64_t i = 0; i < of_x; ++i) put(product_x(library.rank(), i), x_[i]);
    for (std::int64_t i = 0; i < whole; ++i) put(product_residual(i), r_[i]);
    for (std::int64_t i = 0; i < problem.n; ++i) put(product_bias(i), bias_[i]);
    std::fill_n(part_, whole, T{});
    std::vector<T> w(static_cast<std::size_t>(problem.k * problem.n));
    for (std::size_t i = 0; i < w.size(); ++i) {
      put(product_w(library.rank(), static_cast<std::int64_t>(i)), w[i]);
    }
    gemm_ = std::make_unique<Gemm>(problem.m, problem.n, problem.k, kNumber == Number::bf16, x_,
                                   w.data(), part_);
  }

  void plain() { library_.all_reduce(part_, sum_, count_, kNumber); }

  void all_reduce() {
    gemm_->run();
    plain();
    finish(sum_, 0, count_);
  }

  void scatter() {
    gemm_->run();
    library_.reduce_scatter(part_, sum_, each_, kNumber);
    const std::int64_t begin = each_ * library_.rank();
    finish(sum_, std::min(count_, begin), std::min(count_, begin + each_));
    library_.all_gather(out_ + begin, out_, each_, kNumber);
  }

  void use_buffers() { use(out_, count_, x_, problem_.m * problem_.k); }
  void use_part() { use(sum_, count_, part_, count_); }

  double difference() const {
    return product_difference(problem_, library_.ranks(),
                              [&](std::int64_t i) { return static_cast<double>(get(out_[i])); });
  }
  // Of `plain` after a product: the same bits on all ranks are not looked at, the values are.
  double sum_difference() {
    gemm_->run();
    plain();
    double worst = 0;
    for (std::int64_t i = 0; i < count_; i += std::max<std::int64_t>(1, count_ / 97)) {
      const double want = product_total(problem_, library_.ranks(), i);
      const double size = 1 + std::fabs(want);
      worst = worse(worst, static_cast<double>(get(sum_[i])) / size, want / size);
    }
    return worst;
  }

 private:
  static constexpr Number kNumber = sizeof(T) == 4 ? Number::f32 : Number::bf16;

  // Elements [begin, end), whole rows; sum[0] is element `begin`.
  void finish(const T* sum, std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kBlock = 512;
    std::uint32_t words[kBlock];
    const float scale = dropout_.scale();
    for (std::int64_t row = begin; row < end; row += problem_.n) {
      for (std::int64_t at = 0; at < problem_.n; at += kBlock) {
        const std::int64_t length = std::min(kBlock, problem_.n - at);
        dropout_.words(static_cast<std::uint64_t>(row + at), length, words);
        const T* __restrict total = sum + (row - begin) + at;
        const T* __restrict bias = bias_ + at;
        const T* __restrict r = r_ + row + at;
        T* __restrict out = out_ + row + at;
        const auto threshold = static_cast<std::uint32_t>(dropout_.threshold());
#pragma omp simd
        for (std::int64_t j = 0; j < length; ++j) {
          const float kept = (get(total[j]) + get(bias[j])) * scale;
          put((words[j] >= threshold ? kept : 0.0f) + get(r[j]), out[j]);
        }
      }
    }
  }

  Library& library_;
  Problem problem_;
  std::int64_t count_, each_;  // elements of the result, of a slice of rows of it
  Arrays arrays_;
  T *x_, *part_, *sum_, *r_, *bias_, *out_;
  std::unique_ptr<Gemm> gemm_;
  kernel::Dropout dropout_{1, 0, 0, 0, kDropoutRate};
};

class Products : public Operations {
 public:
  Products(Library& library, const Arguments& arguments)
      : library_(library),
        problem_(problem_of(arguments)),
        huge_(arguments.text("pages") == "huge") {}

 private:
  template <class F>
  auto with(const OperationName& name, F&& f) {
    if (name.dtype == "bf16") {
      if (!bf16_) bf16_ = std::make_unique<Product<Bf16>>(library_, problem_, huge_);
      return f(*bf16_);
    }
    if (!f32_) f32_ = std::make_unique<Product<float>>(library_, problem_, huge_);
    return f(*f32_);
  }

 public:
  std::function<void()> operation(const std::string& text) override {
    const OperationName name(text);
    return with(name, [&](auto& product) -> std::function<void()> {
      if (name.form == "plain") return [&product] { product.plain(); };
      if (name.form == "all_reduce") return [&product] { product.all_reduce(); };
      if (name.form == "scatter") return [&product] { product.scatter(); };
      throw std::runtime_error("no operation " + text);
    });
  }

  void use_buffers(const std::string& text) override {
    const OperationName name(text);
    with(name,
         [&](auto& product) { name.form == "plain" ? product.use_part() : product.use_buffers(); });
  }

  double check(const std::string& text) override {
    const OperationName name(text);
    return with(name, [&](auto& product) {
      if (name.form == "plain") return product.sum_difference();
      operation(text)();
      return product.difference();
    });
  }

 private:
  Library& library_;
  Problem problem_;
  bool huge_;
  std::unique_ptr<Product<float>> f32_;
  std::unique_ptr<Product<Bf16>> bf16_;
};

}  // namespace

std::unique_ptr<Operations> products(Library& library, const Arguments& arguments) {
  return std::make_unique<Products>(library, arguments);
}

}  // namespace coconet::bench
