// The floors: what memory gives to the ranks' cores together when they do nothing else. Each rank
// reads, writes or copies arrays of its own, reads what the next rank has just written, or writes
// what the next rank has just read.
#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/worker/arrays.h"
#include "bench/worker/floor_passes.h"
#include "bench/worker/serve.h"
#include "bench/worker/use.h"

namespace coconet::bench {
namespace {

// As wide as this machine's registers: one line of a cache, or a part of one.
#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
typedef float Vector __attribute__((vector_size(kWidth * sizeof(float)), may_alias, aligned(4)));

// A store that leaves no copy in the caches.
inline void stream(float* to, Vector value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)value);
#elif defined(__AVX__)
  _mm256_stream_ps(to, (__m256)value);
#elif defined(__x86_64__)
  _mm_stream_ps(to, (__m128)value);
#else
  std::memcpy(to, &value, sizeof value);
#endif
}

void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }

class MemoryOperations : public Operations {
 public:
  // Two arrays of `bytes` each; `shared`: by rank, what the others read.
  MemoryOperations(const Arguments& arguments, int rank, std::vector<float*> shared)
      : shared_(std::move(shared)),
        rank_(rank),
        exchanged_(rounded(arguments.number("exchanged"))),
        count_(rounded(arguments.number("bytes"))),
        passes_(floor_passes(arguments.number("bytes"))),
        arrays_(true),
        a_(arrays_.make<float>(count_)),
        b_(arrays_.make<float>(count_)) {
    std::memset(a_, 0, count_ * sizeof(float));
    std::memset(b_, 0, count_ * sizeof(float));
  }

  std::function<void()> operation(const std::string& name) override {
    if (name == "empty") return [] {};
    float* const peers = shared_[(static_cast<std::size_t>(rank_) + 1) % shared_.size()];
    if (name == "exchange") return [this, peers] { read(peers, exchanged_); };
    if (name == "push") return [this, peers] { write(peers, exchanged_); };
    if (name == "push_nt") return [this, peers] { write_nt(peers, exchanged_); };
    if (name == "read") return [this] { repeat([this] { read(a_, count_); }); };
    if (name == "write") return [this] { repeat([this] { write(a_, count_); }); };
    if (name == "write_nt") return [this] { repeat([this] { write_nt(a_, count_); }); };
    if (name == "copy") return [this] { repeat([this] { copy(); }); };
    if (name == "copy_nt") return [this] { repeat([this] { copy_nt(); }); };
    throw std::runtime_error("no operation " + name);
  }

  // What is exchanged is new each time, what is pushed was read; the rest is nobody else's.
  void use_buffers(const std::string& name) override {
    if (name == "exchange") use(a_, 0, shared_[rank_], exchanged_);
    if (name == "push" || name == "push_nt") use(shared_[rank_], exchanged_, a_, 0);
  }
  double check(const std::string&) override { return 0; }

 private:
  static constexpr std::int64_t kStep = 8 * kWidth;
  static std::int64_t rounded(std::int64_t bytes) { return bytes / 4 / kStep * kStep; }

  template <class Pass>
  void repeat(Pass&& pass) {
    for (std::int64_t i = 0; i < passes_; ++i) {
      pass();
      // A pass is done before the next, whose loads and stores are not known to be the same.
      __asm__ volatile("" ::: "memory");
    }
  }

  static void read(const float* from, std::int64_t count) {
    Vector sums[8] = {};
    for (std::int64_t i = 0; i < count; i += kStep) {
      for (int k = 0; k < 8; ++k) sums[k] += load(from + i + k * kWidth);
    }
    for (int k = 1; k < 8; ++k) sums[0] += sums[k];
    __asm__ volatile("" : : "m"(sums[0]));
  }

  void write(float* to, std::int64_t count) {
    const Vector value = load(b_);
    for (std::int64_t i = 0; i < count; i += kWidth) {
      *reinterpret_cast<Vector*>(to + i) = value;
    }
  }

  void write_nt(float* to, std::int64_t count) {
    const Vector value = load(b_);
    for (std::int64_t i = 0; i < count; i += kWidth) stream(to + i, value);
    fence();
  }

  void copy() {
    for (std::int64_t i = 0; i < count_; i += kWidth) {
      *reinterpret_cast<Vector*>(b_ + i) = load(a_ + i);
    }
  }

  void copy_nt() {
    for (std::int64_t i = 0; i < count_; i += kWidth) stream(b_ + i, load(a_ + i));
    fence();
  }

  std::vector<float*> shared_;
  int rank_;
  std::int64_t exchanged_, count_, passes_;
  Arrays arrays_;
  float* a_;
  float* b_;
};

void run(const Arguments& arguments) {
  const int ranks = static_cast<int>(arguments.number("ranks", 2));
  std::vector<float*> shared;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto bytes = static_cast<std::size_t>(arguments.number("exchanged"));
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("cannot share memory");
    shared.push_back(static_cast<float*>(at));
  }
  serve_ranks(arguments, [&](int rank) {
    return std::make_unique<MemoryOperations>(arguments, rank, shared);
  });
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  return exit_code_of(argv[0], [&] { run(Arguments(argc, argv)); });
}
