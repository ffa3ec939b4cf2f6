// A rank of an MPI library: one source for all of them, compiled by each one's mpicxx.
#include <mpi.h>

#include <stdexcept>
#include <vector>

#include "bench/peers/operations.h"
#include "bench/worker/half.h"

namespace coconet::bench {
namespace {

void need(int status) {
  if (status != MPI_SUCCESS) throw std::runtime_error("MPI failed");
}

void add_bf16(void* in, void* inout, int* count, MPI_Datatype*) {
  const Bf16* __restrict from = static_cast<const Bf16*>(in);
  Bf16* __restrict to = static_cast<Bf16*>(inout);
#pragma omp simd
  for (int i = 0; i < *count; ++i) to[i] = bf16_of(widened(to[i]) + widened(from[i]));
}

class Mpi : public Library {
 public:
  Mpi() {
    need(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    need(MPI_Comm_size(MPI_COMM_WORLD, &ranks_));
    need(MPI_Op_create(add_bf16, 1, &add_bf16_));
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void all_reduce(const void* from, void* to, std::int64_t count, Number number) override {
    need(MPI_Allreduce(from, to, int_of(count), type(number), sum(number), MPI_COMM_WORLD));
  }

  void reduce_scatter(const void* from, void* to, std::int64_t each, Number number) override {
    counts_.assign(static_cast<std::size_t>(ranks_), int_of(each));
    need(MPI_Reduce_scatter(from, to, counts_.data(), type(number), sum(number), MPI_COMM_WORLD));
  }

  void all_gather(const void* from, void* whole, std::int64_t each, Number number) override {
    const char* place = static_cast<char*>(whole) + rank_ * each * bytes_of(number);
    if (from == place) {
      need(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, int_of(each), type(number),
                         MPI_COMM_WORLD));
    } else {
      need(MPI_Allgather(from, int_of(each), type(number), whole, int_of(each), type(number),
                         MPI_COMM_WORLD));
    }
  }

  void all_to_all(const void* from, void* to, std::int64_t each, Number number) override {
    need(MPI_Alltoall(from, int_of(each), type(number), to, int_of(each), type(number),
                      MPI_COMM_WORLD));
  }

 private:
  static int int_of(std::int64_t count) { return static_cast<int>(count); }
  static MPI_Datatype type(Number number) {
    return number == Number::f32 ? MPI_FLOAT : MPI_UINT16_T;
  }
  MPI_Op sum(Number number) const { return number == Number::f32 ? MPI_SUM : add_bf16_; }

  int rank_ = 0, ranks_ = 0;
  MPI_Op add_bf16_ = MPI_OP_NULL;
  std::vector<int> counts_;
};

void run(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  need(MPI_Init(&argc, &argv));
  {
    Mpi mpi;
    pin(arguments, mpi.rank());
    serve(arguments, mpi.rank(), *operations_of(mpi, arguments));
  }
  need(MPI_Finalize());
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  return exit_code_of(argv[0], [&] { run(argc, argv); });
}
