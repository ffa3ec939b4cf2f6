#include "bench/worker/gemm.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace coconet::bench {

using dnnl::memory;

namespace {

dnnl::matmul::primitive_desc best_for(const dnnl::engine& engine, const memory::desc& a,
                                      const memory::desc& b, const memory::desc& out) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, a, b, out);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, out), engine);
#endif
}

}  // namespace

struct Gemm::Primitive {
  Primitive(const memory::desc& of_a, const memory::desc& of_b, const memory::desc& of_out,
            const memory::desc& any_b, void* from_a, void* from_b, void* to)
      : how(best_for(engine, of_a, any_b, of_out)),
        matmul(how),
        a(of_a, engine, from_a),
        b(how.weights_desc(), engine),
        out(of_out, engine, to) {
    memory plain(of_b, engine, from_b);
    dnnl::reorder(plain, b).execute(stream, plain, b);
    stream.wait();
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul::primitive_desc how;
  dnnl::matmul matmul;
  memory a, b, out;
};

Gemm::Gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool bf16, void* a, void* b, void* out) {
  const auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const auto plain = memory::format_tag::ab;
  primitive_ = std::make_unique<Primitive>(
      memory::desc({m, k}, type, plain), memory::desc({k, n}, type, plain),
      memory::desc({m, n}, type, plain), memory::desc({k, n}, type, memory::format_tag::any), a, b,
      out);
}

Gemm::~Gemm() = default;

void Gemm::run() {
  Primitive& with = *primitive_;
  with.matmul.execute(
      with.stream, {{DNNL_ARG_SRC, with.a}, {DNNL_ARG_WEIGHTS, with.b}, {DNNL_ARG_DST, with.out}});
  with.stream.wait();
}

}  // namespace coconet::bench
