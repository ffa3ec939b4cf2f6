// Does this machine's matmul keep the contract that exact rewrites of a matmul rest on?
#pragma once

#include <string>

#include "coconet/kernel/call.h"

namespace coconet::runtime {

struct MatmulSelfTest {
  bool holds = false;
  std::string finding;  // one line: what was compared, or the first case that differs
};

// Whether out[i,j] has the same bits when a product is cut into chunks of rows or columns. Takes
// some tenths of a second, most of it oneDNN's first use of each shape. Errors as matmul().
MatmulSelfTest matmul_self_test(kernel::MatmulType type);

}  // namespace coconet::runtime
