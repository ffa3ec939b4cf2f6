// Arrays of one rank as a careful user places them: no two at the same offset in a page, as those
// compete for the same lines of a cache, and a store to one delays loads from another.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace coconet::bench {

class Arrays {
 public:
  // `huge`: arrays of 256 KiB and more of 2 MiB pages, where the system gives them.
  explicit Arrays(bool huge) : huge_(huge) {}
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  ~Arrays() {
    for (void* block : blocks_) std::free(block);
  }

  template <class T>
  T* make(std::int64_t count) {
    constexpr std::size_t kPage = 4096, kHugePage = std::size_t{2} << 20, kStagger = 576;
    const std::size_t offset = blocks_.size() * kStagger % kPage;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T) + offset;
    const bool huge = huge_ && bytes >= kHugePage / 8;
    const std::size_t alignment = huge ? kHugePage : kPage;
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void* block = std::aligned_alloc(alignment, whole);
    if (block == nullptr) throw std::bad_alloc();
    if (huge) madvise(block, whole, MADV_HUGEPAGE);
    blocks_.push_back(block);
    return reinterpret_cast<T*>(static_cast<std::byte*>(block) + offset);
  }

 private:
  bool huge_;
  std::vector<void*> blocks_;
};

}  // namespace coconet::bench
