// .npy files (numpy's format 1.0, 2.0 and 3.0): one tensor each.
//
//   offset 0   "\x93NUMPY"
//          6   major version, minor version (one byte each)
//          8   header length: 2 bytes (1.0) or 4 bytes (2.0, 3.0), little-endian
//              header: a Python dict literal, padded with spaces, ending in a newline
//              the elements, nothing after them
//
// Dtypes f2 f4 f8 i4 i8 in either byte order, and b1. fortran_order is turned into row-major order.
// bf16 has no .npy form. All failures are UserErrors (data) that name the file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "coconet/io/byte_source.h"
#include "coconet/io/tensor_data.h"

namespace coconet {

TensorData read_npy(const ByteSource& source);
TensorData read_npy(const std::string& path);
TensorData read_npy(std::span<const std::byte> bytes, const std::string& name);

// The bytes before the elements of `tensor` in a .npy file: a multiple of 64. `name` is for errors.
std::vector<std::byte> npy_prefix(const TensorData& tensor, const std::string& name);

// Atomic: see io/write_file.h.
void write_npy(const std::string& path, const TensorData& tensor);

}  // namespace coconet
