// Subnormal operands of bf16 products. Units that multiply bf16 (AMX, AVX512-BF16) take them for
// zeros, so that 2^-127 * 2^127 is 0 and, beside an infinity, NaN. Elements whose row or column
// holds one are made again, each one chain along k of f32 multiply-adds. Which these are depends on
// the row and the column alone, and k is never cut: it is the same whatever the chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "coconet/kernel/call.h"

namespace coconet::gemm {

// What oneDNN's products for AVX512-BF16 get wrong: a subnormal; an infinity or a NaN, beside which
// oneDNN 2.6 multiplies zeros of its own if k is odd.
inline bool is_special(std::uint16_t bf16) {
  const unsigned magnitude = bf16 & 0x7fffu;
  return magnitude - 1 < 0x7fu || magnitude >= 0x7f80u;
}

// Rows of the call's left operand that hold such, and columns of the right one.
std::vector<std::int64_t> special_rows(const kernel::MatmulCall& call);
std::vector<std::int64_t> special_columns(const kernel::MatmulCall& call);

// Makes all elements of these rows, and of these columns, again. Requires: the call is of bf16.
void multiply_again(const kernel::MatmulCall& call, const std::vector<std::int64_t>& rows,
                    const std::vector<std::int64_t>& columns);

}  // namespace coconet::gemm
