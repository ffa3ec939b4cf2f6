#include "coconet/runtime/gemm/gemm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <vector>

#include "coconet/runtime/gemm/convert.h"
#include "coconet/runtime/gemm/onednn.h"

// A product is cut into tiles, each one call of oneDNN, and tiles are padded with zeros, so that
// every output element comes from the same sequence of operations whatever m and n are. What that
// takes depends on the code path that oneDNN chooses (compared bit by bit on oneDNN 2.6):
// - Everywhere: at least 2 rows and 2 columns, as one of them is a vector to oneDNN.
// - f32 on AVX-512 (brgemm): oneDNN cuts k by m, n and the strides unless it is short, so k is cut
//   here, at multiples of 256. Other f32 paths treat the last rows and columns apart: whole
//   multiples of 48 too.
// - bf16 on AMX: oneDNN leaves AMX for small products and cuts a long k by the size of m and n. So
//   tiles have 64 rows and multiples of 64 columns, and k is cut here, at multiples of 1,024.
// - bf16 on AVX-512 alone: as f32. Without bf16 instructions: widened to f32, as f16 always is.
// Output is f32 and rounded here, once. A transposed operand is copied into the other order, so
// that its product is that of the operand as it would be given otherwise, to the bit.
namespace coconet::gemm {

namespace {

using kernel::MatmulCall;
using kernel::MatmulType;

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();

struct Tiling {
  bool bf16 = false;                                             // oneDNN reads bf16; else f32
  std::int64_t rows = kWhole, columns = kWhole, depth = kWhole;  // of a tile at most
  std::int64_t row_multiple = 1, column_multiple = 1;            // after padding
};

Tiling choose_f32() {
  const Product probe{64, 64, 64, 64, 64, 64, false, false};
  Tiling out;
  out.depth = 256;
  if (path_of(probe).find("avx512") == std::string::npos) {
    out.row_multiple = out.column_multiple = 48;
  }
  return out;
}

// Widened in pieces of 256 rows or columns, which stay in the cache.
Tiling choose_widened() {
  Tiling out = choose_f32();
  out.rows = out.columns = out.row_multiple == 1 ? 256 : 240;
  return out;
}

Tiling choose_bf16() {
  const Product probe{64, 64, 256, 256, 64, 64, true, false};
  const std::string path = path_of(probe);
  if (path.find("amx") != std::string::npos) return {true, 64, 256, 1024, 64, 64};
  if (path.find("bf16") != std::string::npos) return {true, 256, 256, 256, 1, 1};
  return choose_widened();
}

const Tiling& tiling_of(MatmulType type) {
  static const Tiling f32 = choose_f32();
  static const Tiling widened = choose_widened();
  static const Tiling bf16 = choose_bf16();
  if (type == MatmulType::bf16) return bf16;
  return type == MatmulType::f32 ? f32 : widened;
}

std::int64_t padded_size(std::int64_t size, std::int64_t multiple) {
  return std::max<std::int64_t>(2, (size + multiple - 1) / multiple * multiple);
}

// A matrix that oneDNN reads: the caller's memory, or a widened or padded copy.
struct Operand {
  const std::byte* data = nullptr;
  std::int64_t stride = 0;
};

class Scratch {
 public:
  // rows x columns of the matrix, padded with zeros to padded_rows x padded_columns.
  Operand copy(const std::byte* from, std::int64_t stride, MatmulType type, bool keep,
               std::int64_t rows, std::int64_t columns, std::int64_t padded_rows,
               std::int64_t padded_columns) {
    const std::int64_t in_size = size_of(type);
    const std::int64_t size = keep ? in_size : 4;
    memory_.resize(static_cast<std::size_t>(padded_rows * padded_columns * size));
    std::byte* to = memory_.data();
    for (std::int64_t i = 0; i < rows; ++i, to += padded_columns * size) {
      const std::byte* row = from + i * stride * in_size;
      if (keep) {
        std::memcpy(to, row, static_cast<std::size_t>(columns * size));
      } else {
        widen(row, type, columns, reinterpret_cast<float*>(to));
      }
      std::memset(to + columns * size, 0,
                  static_cast<std::size_t>((padded_columns - columns) * size));
    }
    std::memset(to, 0, static_cast<std::size_t>((padded_rows - rows) * padded_columns * size));
    return {memory_.data(), padded_columns};
  }

  // rows x columns of a matrix that is given with its columns as rows.
  const std::byte* transpose(const std::byte* from, std::int64_t stride, std::int64_t size,
                             std::int64_t rows, std::int64_t columns) {
    turned_.resize(static_cast<std::size_t>(rows * columns * size));
    if (size == 4) {
      turn<std::uint32_t>(from, stride, rows, columns);
    } else {
      turn<std::uint16_t>(from, stride, rows, columns);
    }
    return turned_.data();
  }

  float* room(std::int64_t count) {
    memory_.resize(static_cast<std::size_t>(count) * sizeof(float));
    return reinterpret_cast<float*>(memory_.data());
  }

 private:
  // In blocks, whose lines stay in the cache.
  template <class Bits>
  void turn(const std::byte* from, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t kSide = 32;
    const Bits* in = reinterpret_cast<const Bits*>(from);
    Bits* out = reinterpret_cast<Bits*>(turned_.data());
    for (std::int64_t i = 0; i < rows; i += kSide) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t end = std::min(rows, i + kSide);
        for (std::int64_t row = i; row < end; ++row) out[row * columns + j] = in[j * stride + row];
      }
    }
  }

  std::vector<std::byte> memory_, turned_;
};

class Multiplication {
 public:
  explicit Multiplication(const MatmulCall& call) : call_(call), tiling_(tiling_of(call.type)) {}

  void run() {
    const std::int64_t row_step = std::min(tiling_.rows, call_.m);
    const std::int64_t column_step = std::min(tiling_.columns, call_.n);
    for (std::int64_t j = 0; j < call_.n; j += column_step) {
      const std::int64_t columns = std::min(column_step, call_.n - j);
      const std::int64_t padded = padded_size(columns, tiling_.column_multiple);
      const Operand b = operand(b_scratch(), call_.b, 0, j, call_.b_stride, call_.tb, call_.k,
                                columns, call_.k, padded);
      for (std::int64_t i = 0; i < call_.m; i += row_step) {
        tile(i, std::min(row_step, call_.m - i), j, columns, padded, b);
      }
    }
  }

 private:
  static Scratch& a_scratch() {
    thread_local Scratch out;
    return out;
  }
  static Scratch& b_scratch() {
    thread_local Scratch out;
    return out;
  }
  static Scratch& out_scratch() {
    thread_local Scratch out;
    return out;
  }

  // rows x columns of the matrix, from this row and column on.
  Operand operand(Scratch& scratch, const void* matrix, std::int64_t row, std::int64_t column,
                  std::int64_t stride, bool transposed, std::int64_t rows, std::int64_t columns,
                  std::int64_t padded_rows, std::int64_t padded_columns) const {
    const std::int64_t first = transposed ? column * stride + row : row * stride + column;
    const std::byte* data = static_cast<const std::byte*>(matrix) + first * size_of(call_.type);
    if (transposed) {
      data = scratch.transpose(data, stride, size_of(call_.type), rows, columns);
      stride = columns;
    }
    const bool as_it_is = tiling_.bf16 || call_.type == MatmulType::f32;
    if (as_it_is && rows == padded_rows && columns == padded_columns) return {data, stride};
    return scratch.copy(data, stride, call_.type, as_it_is, rows, columns, padded_rows,
                        padded_columns);
  }

  // Output rows i.. and columns j.., of which b holds the columns.
  void tile(std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns,
            std::int64_t padded_columns, const Operand& b) const {
    const std::int64_t padded_rows = padded_size(rows, tiling_.row_multiple);
    const Operand a = operand(a_scratch(), call_.a, i, 0, call_.a_stride, call_.ta, rows, call_.k,
                              padded_rows, call_.k);
    auto* out =
        static_cast<std::byte*>(call_.out) + (i * call_.out_stride + j) * size_of(call_.out_type);
    const bool direct =
        call_.out_type == MatmulType::f32 && rows == padded_rows && columns == padded_columns;
    float* result =
        direct ? reinterpret_cast<float*>(out) : out_scratch().room(padded_rows * padded_columns);
    const std::int64_t stride = direct ? call_.out_stride : padded_columns;
    add_up(padded_rows, padded_columns, a, b, result, stride);
    if (direct) return;
    for (std::int64_t row = 0; row < rows; ++row) {
      narrow(result + row * stride, columns, call_.out_type,
             out + row * call_.out_stride * size_of(call_.out_type));
    }
  }

  void add_up(std::int64_t rows, std::int64_t columns, const Operand& a, const Operand& b,
              float* out, std::int64_t stride) const {
    const std::int64_t size = tiling_.bf16 ? 2 : 4;
    const std::int64_t step = std::min(tiling_.depth, call_.k);
    for (std::int64_t k = 0; k < call_.k; k += step) {
      const Product product{rows,         columns,  std::min(step, call_.k - k),
                            a.stride,     b.stride, stride,
                            tiling_.bf16, k > 0};
      multiply(product, a.data + k * size, b.data + k * b.stride * size, out);
    }
  }

  const MatmulCall& call_;
  const Tiling& tiling_;
};

void fill_zeros(const MatmulCall& call) {
  const std::int64_t size = size_of(call.out_type);
  for (std::int64_t i = 0; i < call.m; ++i) {
    std::memset(static_cast<std::byte*>(call.out) + i * call.out_stride * size, 0,
                static_cast<std::size_t>(call.n * size));
  }
}

}  // namespace

}  // namespace coconet::gemm

extern "C" __attribute__((visibility("default"))) int coconet_gemm_v2(
    const coconet::kernel::MatmulCall* call, char* message, std::size_t size) {
  try {
    if (call->m == 0 || call->n == 0) return 0;
    if (call->k == 0) {
      coconet::gemm::fill_zeros(*call);
    } else {
      coconet::gemm::Multiplication(*call).run();
    }
    return 0;
  } catch (const std::bad_alloc&) {
    std::snprintf(message, size, "out of memory");
    return 1;
  } catch (const std::exception& error) {
    std::snprintf(message, size, "%s", error.what());
    return 1;
  }
}
