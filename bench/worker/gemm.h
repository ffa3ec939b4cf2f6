// One matrix product by oneDNN on the calling thread, made for repeated calls: made once, weights
// packed once into the order that oneDNN prefers.
#pragma once

#include <cstdint>
#include <memory>

namespace coconet::bench {

class Gemm {
 public:
  // out[m,n] = a[m,k] b[k,n], all dense, all f32 or all bf16. Keeps the pointers of a and out and a
  // packed copy of b.
  Gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool bf16, void* a, void* b, void* out);
  ~Gemm();
  void run();

 private:
  struct Primitive;
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace coconet::bench
