// Matrix products for generated modules. The GEMM library (coconet_gemm, over oneDNN) is loaded at
// the first use and not before, so that programs without a matmul need no oneDNN.
#pragma once

#include "coconet/kernel/call.h"

namespace coconet::runtime {

// See kernel::MatmulCall. Uses one thread. Thread-safe.
// UserError(runtime) if the library or oneDNN cannot be loaded; UserError(unsupported) for a pair
// of types other than: f64 to f64; f32, bf16, f16 to f32, bf16, f16.
void matmul(const kernel::MatmulCall& call);

}  // namespace coconet::runtime
