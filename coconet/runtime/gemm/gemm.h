// What the shared library coconet_gemm exports. It alone is linked with oneDNN; the rest of the
// project opens it at run time (runtime/matmul.h).
#pragma once

#include <cstddef>

#include "coconet/kernel/call.h"

extern "C" {

// Performs the call (types f32, bf16, f16) on the calling thread alone; not 0: `message` says why
// it could not, a text of at most `size` bytes with its final 0.
using coconet_gemm_function = int(const coconet::kernel::MatmulCall* call, char* message,
                                  std::size_t size);

// Exported under the name coconet_gemm_v<abi version>, so that a library of another version is not
// taken for this one.
inline constexpr char kCoconetGemmName[] = "coconet_gemm_v3";
}
