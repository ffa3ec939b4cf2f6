// Matrix products for generated modules. The GEMM library (coconet_gemm, over oneDNN) is loaded at
// the first use and not before, so that programs without a matmul need no oneDNN.
#pragma once

#include <string>

#include "coconet/kernel/call.h"

namespace coconet::runtime {

// See kernel::MatmulCall. Uses one thread. Thread-safe.
// UserError(runtime) if the library or oneDNN cannot be loaded; UserError(unsupported) for a pair
// of types other than: f64 to f64; f32, bf16, f16 to f32, bf16, f16.
void matmul(const kernel::MatmulCall& call);

// Whether out[i,j] has the same bits however a product is cut into row chunks or columns on this
// machine. Rewrites of a matmul are exact if it holds.
struct MatmulSelfTest {
  bool holds = false;
  std::string finding;  // one line: what was compared, or the first case that differs
};
MatmulSelfTest matmul_self_test(kernel::MatmulType type);

}  // namespace coconet::runtime
