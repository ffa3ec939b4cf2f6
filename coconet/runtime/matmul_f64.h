// The f64 matrix product, our own loop.
#pragma once

#include "coconet/kernel/call.h"

namespace coconet::runtime {

// out[i,j] = (((0 + a[i,0]*b[0,j]) + a[i,1]*b[1,j]) + ...), in this order, each product and sum
// rounded; whatever m and n are. Requires: type and out_type f64.
void matmul_f64(const kernel::MatmulCall& call);

}  // namespace coconet::runtime
