// Products by the kernels of panel_kernels.h, on one thread.
#pragma once

#include "coconet/kernel/call.h"

namespace coconet::gemm {

// What multiplies operands of f32, bf16 or f16 here; f16 is widened, and bf16 where there is no
// function for it. Null if the processor has not got what it takes.
struct PanelFunctions {
  void (*f32)(const kernel::MatmulCall& call) = nullptr;   // AVX-512
  void (*bf16)(const kernel::MatmulCall& call) = nullptr;  // AMX
};
PanelFunctions panel_functions();

}  // namespace coconet::gemm
