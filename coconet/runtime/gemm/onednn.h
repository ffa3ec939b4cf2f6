// One matrix product by oneDNN, its v2 or v3, on the calling thread alone.
#pragma once

#include <cstdint>
#include <string>

namespace coconet::gemm {

struct Product {
  std::int64_t m, n, k;  // at least 1
  std::int64_t a_stride, b_stride, out_stride;
  bool bf16;  // a and b; else they are f32. out is f32
  bool add;   // to what out holds

  bool operator==(const Product&) const = default;
};

// Throws std::exception if oneDNN cannot. Thread-safe.
void multiply(const Product& product, const void* a, const void* b, float* out);

// Which of oneDNN's code paths it takes, such as "brg:avx512_core"; "" if it cannot.
std::string path_of(const Product& product);

}  // namespace coconet::gemm
