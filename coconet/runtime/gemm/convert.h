// Rows of elements to and from f32.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"

namespace coconet::gemm {

std::int64_t size_of(kernel::MatmulType type);  // bytes

// out[i] = the i-th element, exactly.
void widen(const void* in, kernel::MatmulType type, std::int64_t count, float* out);
// The i-th element = in[i], rounded to nearest even.
void narrow(const float* in, std::int64_t count, kernel::MatmulType type, void* out);

}  // namespace coconet::gemm
