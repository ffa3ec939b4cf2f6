#include "bench/worker/rows.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "bench/peers/operations.h"
#include "bench/worker/page.h"
#include "bench/worker/problem.h"
#include "bench/worker/use.h"

namespace coconet::bench {
namespace {

// One row: parts[0..count) summed, plus r, to `added`; normalised, to `out`.
void norm_row(const Bf16* const* parts, int count, const Bf16* r, const Bf16* gamma, Bf16* added,
              Bf16* out, std::int64_t columns) {
  constexpr std::int64_t kBlock = 512;
  float sum[kBlock];
  float squares = 0;
  for (std::int64_t at = 0; at < columns; at += kBlock) {
    const std::int64_t length = std::min(kBlock, columns - at);
    for (std::int64_t j = 0; j < length; ++j) sum[j] = widened(r[at + j]);
    for (int part = 0; part < count; ++part) {
      const Bf16* from = parts[part] + at;
      for (std::int64_t j = 0; j < length; ++j) sum[j] += widened(from[j]);
    }
    Bf16* __restrict to = added + at;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t j = 0; j < length; ++j) {
      const Bf16 value = bf16_of(sum[j]);
      to[j] = value;
      squares += widened(value) * widened(value);
    }
  }
  const float scale = 1 / std::sqrt(squares / static_cast<float>(columns) + kRowEps);
  const Bf16* __restrict from = added;
  Bf16* __restrict to = out;
#pragma omp simd
  for (std::int64_t j = 0; j < columns; ++j) {
    to[j] = bf16_of(widened(from[j]) * scale * widened(gamma[j]));
  }
}

class Rows : public Operations {
 public:
  Rows(Library& library, const Arguments& arguments)
      : library_(library),
        m_(problem_of(arguments).m),
        n_(problem_of(arguments).n),
        each_((m_ + library.ranks() - 1) / library.ranks()),
        arrays_(arguments.text("pages") == "huge") {
    const std::int64_t whole = each_ * library.ranks() * n_;
    x_ = arrays_.make<Bf16>(whole);
    sum_ = arrays_.make<Bf16>(whole);
    r_ = arrays_.make<Bf16>(whole);
    gamma_ = arrays_.make<Bf16>(n_);
    added_ = arrays_.make<Bf16>(whole);
    out_ = arrays_.make<Bf16>(whole);
    parts_ = arrays_.make<Bf16>(m_ * n_ * library.ranks());
    for (std::int64_t i = 0; i < whole; ++i) {
      x_[i] = bf16_of(row_part(library.rank(), i));
      r_[i] = bf16_of(row_residual(i));
    }
    for (std::int64_t j = 0; j < n_; ++j) gamma_[j] = bf16_of(row_gamma(j));
  }

  std::function<void()> operation(const std::string& text) override {
    const std::string form = OperationName(text).form;
    if (form == "plain") return [this] { library_.all_reduce(x_, sum_, m_ * n_, Number::bf16); };
    if (form == "all_reduce") {
      return [this] {
        library_.all_reduce(x_, sum_, m_ * n_, Number::bf16);
        for (std::int64_t row = 0; row < m_; ++row) norm(sum_ + row * n_, row);
      };
    }
    if (form == "scatter") return [this] { scatter(); };
    if (form == "gather") return [this] { gather(); };
    throw std::runtime_error("no operation " + text);
  }

  void use_buffers(const std::string& text) override {
    const bool plain = OperationName(text).form == "plain";
    use(plain ? sum_ : out_, m_ * n_, x_, m_ * n_);
    if (!plain) use(added_, m_ * n_, x_, 0);
  }

  double check(const std::string& text) override {
    for (Bf16* array : {sum_, added_, out_}) std::fill_n(array, m_ * n_, bf16_of(-9));
    operation(text)();
    double worst = 0;
    if (OperationName(text).form == "plain") {
      for (std::int64_t i = 0; i < m_ * n_; ++i) {
        double want = 0;
        for (int rank = 0; rank < library_.ranks(); ++rank) want += row_part(rank, i);
        worst = worse(worst, widened(sum_[i]), want);
      }
      return worst;
    }
    for (std::int64_t row = 0; row < m_; ++row) {
      worst = std::max(
          worst, row_difference(added_ + row * n_, out_ + row * n_, library_.ranks(), row, n_));
    }
    return worst;
  }

 private:
  void norm(const Bf16* sum, std::int64_t row) { norm(&sum, 1, row); }
  void norm(const Bf16* const* parts, int count, std::int64_t row) {
    norm_row(parts, count, r_ + row * n_, gamma_, added_ + row * n_, out_ + row * n_, n_);
  }

  void scatter() {
    const std::int64_t begin = each_ * library_.rank(), slice = each_ * n_;
    library_.reduce_scatter(x_, sum_, slice, Number::bf16);
    for (std::int64_t row = begin; row < std::min(m_, begin + each_); ++row) {
      norm(sum_ + (row - begin) * n_, row);
    }
    library_.all_gather(added_ + begin * n_, added_, slice, Number::bf16);
    library_.all_gather(out_ + begin * n_, out_, slice, Number::bf16);
  }

  void gather() {
    library_.all_gather(x_, parts_, m_ * n_, Number::bf16);
    std::array<const Bf16*, kMaxRanks> parts;
    for (std::int64_t row = 0; row < m_; ++row) {
      for (int r = 0; r < library_.ranks(); ++r) parts[r] = parts_ + (r * m_ + row) * n_;
      norm(parts.data(), library_.ranks(), row);
    }
  }

  Library& library_;
  std::int64_t m_, n_, each_;  // rows, columns, rows of a slice
  Arrays arrays_;
  Bf16 *x_, *sum_, *r_, *gamma_, *added_, *out_, *parts_;
};

}  // namespace

std::unique_ptr<Operations> rows(Library& library, const Arguments& arguments) {
  return std::make_unique<Rows>(library, arguments);
}

}  // namespace coconet::bench
