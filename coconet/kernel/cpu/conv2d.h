// One rank's part of a convolution, from how its pieces are cut.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/matmul.h"
#include "coconet/kernel/cpu/threads.h"

namespace coconet::kernel {

// out = x convolved by w, of the images [begin, begin + count) of the piece (count < 0: all).
// Requires: four dims each, of which slices cut the first two alone, input channels of x as of w.
COCONET_ONCE inline Status conv2d_piece(const Call& call, MatmulType type, const MatmulOperand& x,
                                        const MatmulOperand& w, const MatmulOperand& out,
                                        std::int64_t stride, std::int64_t padding,
                                        std::int64_t begin = 0, std::int64_t count = -1) {
  if (x.space.empty_here || out.space.empty_here) return kOk;
  const Space::Group(&of_x)[kMaxDims] = x.space.group;
  const Space::Group(&of_w)[kMaxDims] = w.space.group;
  const Space::Group(&of_out)[kMaxDims] = out.space.group;
  Conv2dCall work;
  work.images = count < 0 ? of_x[0].count : count;
  work.in_channels = of_x[1].count;
  work.out_channels = of_w[0].count;
  work.height = of_x[2].count;
  work.width = of_x[3].count;
  work.window_height = of_w[2].count;
  work.window_width = of_w[3].count;
  work.out_height = work.rows = of_out[2].count;
  work.out_width = of_out[3].count;
  work.stride = stride;
  work.padding = padding;
  const std::int64_t x_image = work.in_channels * work.height * work.width;
  const std::int64_t out_image = work.out_channels * work.out_height * work.out_width;
  work.x = static_cast<const char*>(x.data) + (begin * x_image + x.ring) * x.element_size;
  work.weight = w.data;
  work.out = static_cast<char*>(out.data) + (begin * out_image + out.ring) * out.element_size;
  work.type = type;
  const std::int64_t window = work.in_channels * work.window_height * work.window_width;
  const std::int64_t elements =
      elements_of(static_cast<double>(work.images * out_image) * static_cast<double>(window));
  if (parts_of(call, elements) == 1) return call.conv2d(call.runtime, work);
  // Threads take rows of the output, counted through the images.
  const auto part = [&](std::int64_t first, std::int64_t held) {
    Conv2dCall one = work;
    one.images = 1;
    for (std::int64_t row = first, end = first + held; row < end; row += one.rows) {
      const std::int64_t image = row / work.out_height;
      one.first_row = row % work.out_height;
      one.rows = smaller(work.out_height - one.first_row, end - row);
      one.x = static_cast<const char*>(work.x) + image * x_image * x.element_size;
      one.out = static_cast<char*>(work.out) + image * out_image * out.element_size;
      const Status status = call.conv2d(call.runtime, one);
      if (status != kOk) return status;
    }
    return kOk;
  };
  return in_cuts(call, work.images * work.out_height, 1, elements, part);
}

}  // namespace coconet::kernel
