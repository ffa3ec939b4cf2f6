// Memory that a process shares with the children it forks later, and with its threads: what ranks
// return results through. Zero at the start; gone with the last process that has it.
//
// Thread-safety: that of plain memory; the end of launch_ranks orders what ranks wrote before what
// the caller reads.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace coconet::runtime {

class SharedBytes {
 public:
  explicit SharedBytes(std::size_t bytes);  // page aligned; 0 is legal
  SharedBytes(SharedBytes&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SharedBytes& operator=(SharedBytes&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedBytes();

  std::span<std::byte> bytes() const { return {base_, bytes_}; }
  // The memory as an array of T, which must be fine with being all zeros.
  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(base_), bytes_ / sizeof(T)};
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace coconet::runtime
