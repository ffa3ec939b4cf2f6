#include "coconet/runtime/conv2d.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/runtime/matmul.h"

namespace coconet::runtime {

namespace {

using kernel::Conv2dCall;
using kernel::MatmulType;

std::int64_t size_of(MatmulType type) {
  switch (type) {
    case MatmulType::f32: return 4;
    case MatmulType::f64: return 8;
    case MatmulType::bf16:
    case MatmulType::f16: return 2;
  }
  throw InternalError("a MatmulType outside its enumerators");
}

// The windows of output rows as columns of a matrix: row (c, kh, kw), column (oh, ow).
class Windows {
 public:
  explicit Windows(const Conv2dCall& call) : call_(call), size_(size_of(call.type)) {}

  std::int64_t depth() const {
    return call_.in_channels * call_.window_height * call_.window_width;
  }

  const std::byte* of(std::int64_t image, std::int64_t first_row, std::int64_t rows) {
    const std::int64_t columns = rows * call_.out_width;
    matrix_.resize(static_cast<std::size_t>(depth() * columns * size_));
    std::byte* to = matrix_.data();
    for (std::int64_t c = 0; c < call_.in_channels; ++c) {
      const std::int64_t plane = (image * call_.in_channels + c) * call_.height * call_.width;
      for (std::int64_t kh = 0; kh < call_.window_height; ++kh) {
        for (std::int64_t kw = 0; kw < call_.window_width; ++kw) {
          for (std::int64_t row = 0; row < rows; ++row, to += call_.out_width * size_) {
            const std::int64_t h = (first_row + row) * call_.stride + kh - call_.padding;
            copy_row(plane, h, kw, to);
          }
        }
      }
    }
    return matrix_.data();
  }

 private:
  // Element kw of the windows of one output row, from row h of the plane; zeros outside of it.
  void copy_row(std::int64_t plane, std::int64_t h, std::int64_t kw, std::byte* to) const {
    std::memset(to, 0, static_cast<std::size_t>(call_.out_width * size_));
    if (h < 0 || h >= call_.height) return;
    const std::int64_t offset = kw - call_.padding;  // of the first window's element
    const std::int64_t first =
        offset >= 0 ? 0 : std::min(call_.out_width, (-offset + call_.stride - 1) / call_.stride);
    const std::byte* from =
        static_cast<const std::byte*>(call_.x) + (plane + h * call_.width) * size_;
    for (std::int64_t ow = first; ow < call_.out_width; ++ow) {
      const std::int64_t w = ow * call_.stride + offset;
      if (w >= call_.width) return;
      if (call_.stride == 1) {
        const std::int64_t run = std::min(call_.out_width - ow, call_.width - w);
        std::memcpy(to + ow * size_, from + w * size_, static_cast<std::size_t>(run * size_));
        return;
      }
      std::memcpy(to + ow * size_, from + w * size_, static_cast<std::size_t>(size_));
    }
  }

  const Conv2dCall& call_;
  std::int64_t size_;
  std::vector<std::byte> matrix_;
};

// Output rows whose windows take about 4 MiB.
std::int64_t rows_of_strip(const Conv2dCall& call, std::int64_t depth) {
  constexpr std::int64_t kBytes = std::int64_t{4} << 20;
  const std::int64_t row = std::max<std::int64_t>(1, depth * call.out_width * size_of(call.type));
  return std::clamp<std::int64_t>(kBytes / row, 1, std::max<std::int64_t>(1, call.out_height));
}

}  // namespace

void conv2d(const Conv2dCall& call) {
  check(call.stride >= 1 && call.padding >= 0, "a convolution moves forward over what it has");
  check(call.first_row >= 0 && call.first_row + call.rows <= call.out_height,
        "a convolution makes rows that its output has");
  Windows windows(call);
  const std::int64_t strip = rows_of_strip(call, windows.depth());
  const std::int64_t plane = call.out_height * call.out_width;
  kernel::MatmulCall work;
  work.type = work.out_type = call.type;
  work.m = call.out_channels;
  work.k = work.a_stride = windows.depth();
  work.a = call.weight;
  work.out_stride = plane;
  for (std::int64_t image = 0; image < call.images; ++image) {
    const std::int64_t end = call.first_row + call.rows;
    for (std::int64_t row = call.first_row; row < end; row += strip) {
      const std::int64_t rows = std::min(strip, end - row);
      work.n = work.b_stride = rows * call.out_width;
      work.b = windows.of(image, row, rows);
      const std::int64_t first = image * call.out_channels * plane + row * call.out_width;
      work.out = static_cast<std::byte*>(call.out) + first * size_of(call.type);
      matmul(work);
    }
  }
}

}  // namespace coconet::runtime
