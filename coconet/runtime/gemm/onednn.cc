#include "coconet/runtime/gemm/onednn.h"

#include <sys/mman.h>

#include <mutex>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <unordered_map>

// Of the OpenMP runtime that oneDNN itself is linked with, if it is.
extern "C" {
__attribute__((weak)) int omp_get_max_threads();
__attribute__((weak)) void omp_set_num_threads(int);
}

namespace coconet::gemm {

namespace {

using dnnl::memory;

// While it lives this thread's OpenMP regions have one thread: the thread itself, so that none is
// ever started and a process may fork after its use.
class OneThread {
 public:
  OneThread() {
    if (omp_get_max_threads == nullptr || omp_set_num_threads == nullptr) return;
    before_ = omp_get_max_threads();
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = 0;
};

struct Primitive {
  memory::desc a, b, out;
  dnnl::matmul multiply;
  std::string path;
};

// oneDNN writes the code it makes without a look whether it has got memory for it, and a process
// that has none ends by SIGSEGV. So it begins only where there is more than it takes.
void need_room_for_code() {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  void* room = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, kBytes);
}

Primitive make_primitive(const dnnl::engine& engine, const Product& p) {
  need_room_for_code();
  const memory::data_type in = p.bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::desc a({p.m, p.k}, in, memory::dims{p.a_stride, 1});
  const memory::desc b({p.k, p.n}, in, memory::dims{p.b_stride, 1});
  const memory::desc out({p.m, p.n}, memory::data_type::f32, memory::dims{p.out_stride, 1});
  dnnl::primitive_attr attributes;
  if (p.add) {
    dnnl::post_ops operations;
    operations.append_sum(1.0f);
    attributes.set_post_ops(operations);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc how(engine, a, b, out, attributes);
#else
  const dnnl::matmul::primitive_desc how(dnnl::matmul::desc(a, b, out), attributes, engine);
#endif
  return {a, b, out, dnnl::matmul(how), how.impl_info_str()};
}

struct Hash {
  std::size_t operator()(const Product& p) const {
    std::uint64_t out = (p.bf16 ? 2u : 0u) + (p.add ? 1u : 0u);
    for (const std::int64_t size : {p.m, p.n, p.k, p.a_stride, p.b_stride, p.out_stride}) {
      out = (out ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15u;
      out ^= out >> 29;
    }
    return out;
  }
};

// A thread's engine, stream and the primitives it has made.
class Thread {
 public:
  Primitive& primitive(const Product& product) {
    const auto found = primitives_.find(product);
    if (found != primitives_.end()) return found->second;
    if (primitives_.size() >= kMost) primitives_.clear();
    // oneDNN shares what it makes among threads; one at a time, so that nothing rests on its locks.
    static std::mutex making;
    const std::lock_guard lock(making);
    return primitives_.emplace(product, make_primitive(engine_, product)).first->second;
  }

  void run(Primitive& primitive, const void* a, const void* b, float* out) {
    const auto at = [&](const memory::desc& desc, const void* data) {
      return memory(desc, engine_, const_cast<void*>(data));
    };
    primitive.multiply.execute(stream_, {{DNNL_ARG_SRC, at(primitive.a, a)},
                                         {DNNL_ARG_WEIGHTS, at(primitive.b, b)},
                                         {DNNL_ARG_DST, at(primitive.out, out)}});
    stream_.wait();
  }

 private:
  static constexpr std::size_t kMost = 512;

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::unordered_map<Product, Primitive, Hash> primitives_;
};

Thread& this_thread() {
  thread_local Thread out;
  return out;
}

void check_version() {
  const dnnl_version_t* loaded = dnnl_version();
  if (loaded->major == DNNL_VERSION_MAJOR) return;
  throw std::runtime_error("built for oneDNN " + std::to_string(DNNL_VERSION_MAJOR) +
                           ", but the process has loaded oneDNN " + std::to_string(loaded->major));
}

}  // namespace

void multiply(const Product& product, const void* a, const void* b, float* out) {
  check_version();
  const OneThread one_thread;
  Thread& thread = this_thread();
  thread.run(thread.primitive(product), a, b, out);
}

std::string path_of(const Product& product) {
  try {
    check_version();
    const OneThread one_thread;
    return this_thread().primitive(product).path;
  } catch (const dnnl::error&) {
    return "";
  }
}

}  // namespace coconet::gemm
