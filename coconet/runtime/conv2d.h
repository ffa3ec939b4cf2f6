// Convolutions for generated modules, as matrix products of windows.
#pragma once

#include "coconet/kernel/call.h"

namespace coconet::runtime {

// See kernel::Conv2dCall; errors are those of matmul(). Uses one thread, and memory for the windows
// of a strip of the output: about 4 MiB, or one row's if that is more. Thread-safe.
//
// oneDNN's own convolutions sum in an order that depends on the sizes, so their bits would not be
// the same on whole tensors and on slices; its products, tiled as runtime/gemm/ does, are.
void conv2d(const kernel::Conv2dCall& call);

}  // namespace coconet::runtime
