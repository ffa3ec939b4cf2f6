#include "coconet/runtime/shared_bytes.h"

#include <sys/mman.h>

#include <string>

#include "coconet/runtime/file_descriptor.h"

namespace coconet::runtime {

SharedBytes::SharedBytes(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    throw_system_error("cannot map " + std::to_string(bytes) + " bytes for the ranks' results");
  }
  base_ = static_cast<std::byte*>(base);
}

SharedBytes::~SharedBytes() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

}  // namespace coconet::runtime
