#include "coconet/runtime/gemm/gemm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <string>

#include "coconet/runtime/gemm/convert.h"
#include "coconet/runtime/gemm/onednn.h"
#include "coconet/runtime/gemm/operand.h"
#include "coconet/runtime/gemm/panels.h"
#include "coconet/runtime/gemm/subnormal.h"

// Where oneDNN would take AVX-512 for f32, or AMX for bf16, a product is made by kernels of this
// folder (panels.h), whose output elements are each one chain along k by construction. They take
// about the time of oneDNN's with packed weights; oneDNN's with weights as they are pack them again
// in each call, that is for each chunk (docs/performance.md).
//
// Elsewhere a product is cut into tiles, each one call of oneDNN, and tiles are padded with zeros,
// so that every output element comes from the same sequence of operations whatever m and n are.
// What that takes depends on the code path that oneDNN chooses (compared bit by bit, oneDNN 2.6):
// - Everywhere: at least 2 rows and 2 columns, as one of them is a vector to oneDNN.
// - f32 treats the last rows and columns apart: whole multiples of 48. k is cut here, at multiples
//   of 256, as oneDNN's own cuts depend on m, n and the strides.
// - bf16 on AVX-512 without AMX: k is cut so too. Without bf16 instructions: widened to f32, as f16
//   always is.
// Output is f32 and rounded here, once. A transposed operand is copied into the other order, so
// that its product is that of the operand as it would be given otherwise, to the bit.
//
// Which of the two it is does not change while a process lives, and is the same for all ranks of a
// job, which are on one machine.
namespace coconet::gemm {

namespace {

using kernel::MatmulCall;
using kernel::MatmulType;

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();

struct Tiling {
  void (*panels)(const MatmulCall&) = nullptr;                   // does it all, if there is one
  bool bf16 = false;                                             // oneDNN reads bf16; else f32
  std::int64_t rows = kWhole, columns = kWhole, depth = kWhole;  // of a tile at most
  std::int64_t row_multiple = 1, column_multiple = 1;            // after padding
};

// DNNL_MAX_CPU_ISA limits these kernels as it limits oneDNN.
bool takes(const Product& probe, const char* path) {
  return path_of(probe).find(path) != std::string::npos;
}

Tiling choose_f32() {
  Tiling out;
  if (takes({64, 64, 64, 64, 64, 64, false, false}, "avx512")) {
    out.panels = panel_functions().f32;
  } else {
    out.row_multiple = out.column_multiple = 48;
  }
  out.depth = 256;
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
  if (takes(probe, "amx")) return {panel_functions().bf16, true, 64, 256, 1024, 64, 64};
  if (takes(probe, "bf16")) return {nullptr, true, 256, 256, 256, 1, 1};
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

class Multiplication {
 public:
  explicit Multiplication(const MatmulCall& call) : call_(call), tiling_(tiling_of(call.type)) {}

  void run() {
    if (tiling_.panels != nullptr) return tiling_.panels(call_);
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
    if (tiling_.bf16) multiply_again(call_, special_rows(call_), special_columns(call_));
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

extern "C" __attribute__((visibility("default"))) int coconet_gemm_v3(
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
