// Arrays of numpy, PyTorch and others, by DLPack.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>
#include <string>

#include "coconet/execute/inputs.h"

namespace coconet::python {

// A copy of the array, or of a number, as a whole tensor; of any strides. UserError(data) that
// names `what` for what is no array, of a dtype that the language does not have, or not in this
// machine's memory. Numbers become f64 or i64, which `wanted` replaces.
TensorData tensor_of(const std::string& what, nanobind::handle array, DTypeKind wanted);

// The memory of an array, which stays the caller's. UserError(data) that names `what` unless it is
// an array of that dtype and shape, contiguous, writable, in this machine's memory.
std::span<std::byte> memory_of(const std::string& what, nanobind::handle array, DTypeKind dtype,
                               const std::vector<std::int64_t>& shape);

// As numpy's, over that memory; a bf16 one, which numpy does not have, as an object that
// torch.from_dlpack takes. `owner` is kept as long as it.
nanobind::object array_over(std::span<std::byte> memory, DTypeKind dtype,
                            const std::vector<std::int64_t>& shape, nanobind::handle owner);
// The same over memory of its own.
nanobind::object array_of(TensorData tensor);

}  // namespace coconet::python
