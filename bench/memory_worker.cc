// The floors: what memory gives to the ranks' cores together when they do nothing else. Each rank
// reads, writes or copies arrays of its own.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/worker/arrays.h"
#include "bench/worker/floor_passes.h"
#include "bench/worker/serve.h"

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
  // Two arrays of `bytes` each.
  explicit MemoryOperations(const Arguments& arguments)
      : count_(arguments.number("bytes") / 4 / kStep * kStep),
        passes_(floor_passes(arguments.number("bytes"))),
        arrays_(true),
        a_(arrays_.make<float>(count_)),
        b_(arrays_.make<float>(count_)) {
    std::memset(a_, 0, count_ * sizeof(float));
    std::memset(b_, 0, count_ * sizeof(float));
  }

  std::function<void()> operation(const std::string& name) override {
    if (name == "empty") return [] {};
    if (name == "read") return [this] { repeat([this] { read(); }); };
    if (name == "write") return [this] { repeat([this] { write(); }); };
    if (name == "write_nt") return [this] { repeat([this] { write_nt(); }); };
    if (name == "copy") return [this] { repeat([this] { copy(); }); };
    if (name == "copy_nt") return [this] { repeat([this] { copy_nt(); }); };
    throw std::runtime_error("no operation " + name);
  }

  double check(const std::string&) override { return 0; }

 private:
  static constexpr std::int64_t kStep = 8 * kWidth;

  template <class Pass>
  void repeat(Pass&& pass) {
    for (std::int64_t i = 0; i < passes_; ++i) {
      pass();
      // A pass is done before the next, whose loads and stores are not known to be the same.
      __asm__ volatile("" ::: "memory");
    }
  }

  // Of the first array: the most that a rank reads at once is two.
  void read() {
    Vector sums[8] = {};
    for (std::int64_t i = 0; i < count_; i += kStep) {
      for (int k = 0; k < 8; ++k) sums[k] += load(a_ + i + k * kWidth);
    }
    for (int k = 1; k < 8; ++k) sums[0] += sums[k];
    __asm__ volatile("" : : "m"(sums[0]));
  }

  void write() {
    const Vector value = load(b_);
    for (std::int64_t i = 0; i < count_; i += kWidth) {
      *reinterpret_cast<Vector*>(a_ + i) = value;
    }
  }

  void write_nt() {
    const Vector value = load(b_);
    for (std::int64_t i = 0; i < count_; i += kWidth) stream(a_ + i, value);
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

  std::int64_t count_, passes_;
  Arrays arrays_;
  float* a_;
  float* b_;
};

int run(const Arguments& arguments) {
  const int ranks = static_cast<int>(arguments.number("ranks", 2));
  int rank = 0;
  for (int child = 1; child < ranks && rank == 0; ++child) {
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("cannot start a rank");
    if (process == 0) {
      rank = child;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
  }
  pin(arguments, rank);
  MemoryOperations operations(arguments);
  serve(arguments, rank, operations);
  while (rank == 0 && wait(nullptr) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  try {
    return coconet::bench::run(coconet::bench::Arguments(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
