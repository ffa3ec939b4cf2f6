#include "coconet/runtime/matmul.h"

#include "coconet/base/error.h"

namespace coconet::runtime {

void matmul(const kernel::MatmulCall&) { throw UserError(ErrorKind::runtime, "x"); }

}  // namespace coconet::runtime
