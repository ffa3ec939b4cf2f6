#include "coconet/runtime/matmul.h"

#include <dlfcn.h>

#include <cstdlib>

#include "coconet/base/error.h"
#include "coconet/runtime/gemm/gemm.h"
#include "coconet/runtime/matmul_f64.h"
#include "coconet_paths.h"

namespace coconet::runtime {

namespace {

// The opened library, or why it could not be opened.
struct Gemm {
  coconet_gemm_function* run = nullptr;
  std::string failure;
};

// RTLD_LOCAL: neither the library's symbols nor oneDNN's are seen by other libraries.
void* open_gemm(std::string& failure) {
  const char* chosen = std::getenv("COCONET_GEMM");
  const std::string built = std::string(kLibraryDir) + "/libcoconet_gemm.so";
  for (const std::string& path :
       {chosen != nullptr ? chosen : built, std::string("libcoconet_gemm.so")}) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (failure.empty()) failure = dlerror();
    if (chosen != nullptr) break;
  }
  return nullptr;
}

Gemm load_gemm() {
  Gemm out;
  void* library = open_gemm(out.failure);
  if (library == nullptr) return out;
  out.run = reinterpret_cast<coconet_gemm_function*>(dlsym(library, kCoconetGemmName));
  if (out.run == nullptr) out.failure = dlerror();
  return out;
}

void check_types(const kernel::MatmulCall& call) {
  using kernel::MatmulType;
  if ((call.type == MatmulType::f64) == (call.out_type == MatmulType::f64)) return;
  throw UserError(ErrorKind::unsupported,
                  "a matmul between f64 and another type; legal are f64 to f64, and f32, bf16 or "
                  "f16 to f32, bf16 or f16");
}

}  // namespace

void matmul(const kernel::MatmulCall& call) {
  check(call.m >= 0 && call.n >= 0 && call.k >= 0, "a matmul's sizes are not negative");
  check_types(call);
  if (call.type == kernel::MatmulType::f64) return matmul_f64(call);
  // Never closed: oneDNN keeps state in each thread.
  static const Gemm gemm = load_gemm();
  if (gemm.run == nullptr) {
    throw UserError(ErrorKind::runtime,
                    "a matmul needs the library coconet_gemm with oneDNN (package libdnnl-dev), "
                    "which cannot be loaded: " +
                        gemm.failure);
  }
  char message[512];
  if (gemm.run(&call, message, sizeof message) != 0) {
    throw UserError(ErrorKind::runtime, std::string("oneDNN cannot multiply: ") + message);
  }
}

}  // namespace coconet::runtime
