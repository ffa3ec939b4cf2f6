// Convolutions: each rank convolves the images, input and output channels it has; over sliced input
// channels its sums are partial.
#include "coconet/interp/operations.h"
#include "coconet/interp/product.h"

namespace coconet::interp {
namespace {

// Along each dim, what a rank has of it. Pieces are row-major in these.
struct Geometry {
  explicit Geometry(const Evaluation& e, int rank) {
    const Piece x = e.input_piece(0, rank), w = e.input_piece(1, rank), out = e.result_piece(rank);
    images = range_of(out, 0).count;
    channels = range_of(out, 1).count;
    rows = range_of(out, 2).count;
    columns = range_of(out, 3).count;
    in_channels = range_of(x, 1).count;
    height = range_of(x, 2).count;
    width = range_of(x, 3).count;
    window_rows = range_of(w, 2).count;
    window_columns = range_of(w, 3).count;
    results = out.count();
  }
  std::int64_t images, channels, rows, columns, in_channels, height, width, window_rows,
      window_columns, results;
};

// Terms are added in the order of w's elements; the zeros of the padding are terms too.
double sum_at(const Geometry& g, const Conv2d& op, const double* image, const double* w,
              std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (std::int64_t c = 0; c < g.in_channels; ++c, image += g.height * g.width) {
    for (std::int64_t kh = 0; kh < g.window_rows; ++kh) {
      const std::int64_t h = row * op.stride + kh - op.padding;
      for (std::int64_t kw = 0; kw < g.window_columns; ++kw, ++w) {
        const std::int64_t at = column * op.stride + kw - op.padding;
        const bool inside = h >= 0 && h < g.height && at >= 0 && at < g.width;
        sum += (inside ? image[h * g.width + at] : 0.0) * *w;
      }
    }
  }
  return sum;
}

std::vector<double> convolved(const Geometry& g, const Conv2d& op, const std::vector<double>& x,
                              const std::vector<double>& w) {
  std::vector<double> out;
  const std::int64_t image = g.in_channels * g.height * g.width;
  const std::int64_t weights = g.in_channels * g.window_rows * g.window_columns;
  for (std::int64_t n = 0; n < g.images; ++n) {
    for (std::int64_t o = 0; o < g.channels; ++o) {
      for (std::int64_t row = 0; row < g.rows; ++row) {
        for (std::int64_t column = 0; column < g.columns; ++column) {
          out.push_back(sum_at(g, op, x.data() + n * image, w.data() + o * weights, row, column));
        }
      }
    }
  }
  return out;
}

}  // namespace

WideProduct wide_conv2d(const Evaluation& e, int rank, bool with_magnitude) {
  const Geometry g(e, rank);
  WideProduct out;
  if (g.results == 0) return out;  // none here, or away from a root
  const auto convolve = [&](bool magnitudes) {
    return convolved(g, std::get<Conv2d>(e.node.op),
                     widened(e.input_kind(0), e.input(0, rank), magnitudes),
                     widened(e.input_kind(1), e.input(1, rank), magnitudes));
  };
  out.value = convolve(false);
  if (with_magnitude) out.magnitude = convolve(true);
  out.terms = g.in_channels * g.window_rows * g.window_columns;
  return out;
}

Pieces evaluate_conv2d(const Evaluation& e) {
  Pieces out(e.ranks());
  for (int rank = 0; rank < e.ranks(); ++rank) {
    out[rank] = rounded(wide_conv2d(e, rank, false).value, e.result_kind());
  }
  return out;
}

}  // namespace coconet::interp
