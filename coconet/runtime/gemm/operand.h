// What a product reads: the caller's matrix, or a copy of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "coconet/kernel/call.h"
#include "coconet/runtime/gemm/convert.h"

namespace coconet::gemm {

struct Operand {
  const std::byte* data = nullptr;
  std::int64_t stride = 0;
};

class Scratch {
 public:
  // rows x columns of the matrix, padded with zeros to padded_rows x padded_columns.
  Operand copy(const std::byte* from, std::int64_t stride, kernel::MatmulType type, bool keep,
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

}  // namespace coconet::gemm
