// A rank of an MPI library: one source for all of them, compiled by each one's mpicxx.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include "bench/worker/adam.h"
#include "bench/worker/arrays.h"
#include "bench/worker/inputs.h"
#include "bench/worker/serve.h"
#include "bench/worker/use.h"

namespace coconet::bench {
namespace {

void need(int status) {
  if (status != MPI_SUCCESS) throw std::runtime_error("MPI failed");
}

class MpiOperations : public Operations {
 public:
  MpiOperations(const Arguments& arguments, int rank, int ranks)
      : rank_(rank),
        ranks_(ranks),
        elements_(arguments.number("elements")),
        arrays_(arguments.text("pages") == "huge"),
        g_(arrays_.make<float>(elements_)),
        total_(arrays_.make<float>(elements_)) {
    for (std::int64_t i = 0; i < elements_; ++i) g_[i] = gradient(rank, i);
    if (arguments.text("state") == "yes") {
      state_ = {arrays_.make<float>(elements_), arrays_.make<float>(elements_),
                arrays_.make<float>(elements_)};
    }
    for (int r = 0; r < ranks; ++r) {
      const std::int64_t begin = elements_ * r / ranks, end = elements_ * (r + 1) / ranks;
      begins_.push_back(static_cast<int>(begin));
      counts_.push_back(static_cast<int>(end - begin));
    }
  }

  std::function<void()> operation(const std::string& name) override {
    if (name == "all_reduce") return [this] { all_reduce(); };
    if (name == "adam_all_reduce") return [this] { adam_all_reduce(); };
    if (name == "adam_reduce_scatter") return [this] { adam_reduce_scatter(); };
    throw std::runtime_error("no operation " + name);
  }

  void use_buffers(const std::string& name) override {
    use(name == "all_reduce" ? total_ : state_.p, g_, elements_);
  }

  double check(const std::string& name) override {
    for (std::int64_t i = 0; i < elements_; ++i) total_[i] = -1;
    for (std::int64_t i = 0; state_.p != nullptr && i < elements_; ++i) {
      state_.p[i] = parameter(i);
      state_.m[i] = first_moment(i);
      state_.v[i] = second_moment(i);
    }
    operation(name)();
    double out = 0;
    if (name == "all_reduce") {
      for (std::int64_t i = 0; i < elements_; ++i) {
        out = worse(out, total_[i], bench::total(ranks_, i));
      }
      return out;
    }
    const bool slices = name == "adam_reduce_scatter";
    for (std::int64_t i = 0; i < elements_; ++i) {
      const AdamValues want = adam_expected(scalars_, ranks_, i);
      out = worse(out, state_.p[i], want.p);
      if (slices && (i < begins_[rank_] || i >= begins_[rank_] + counts_[rank_])) continue;
      out = worse(worse(out, state_.m[i], want.m), state_.v[i], want.v);
    }
    return out;
  }

 private:
  void all_reduce() {
    need(
        MPI_Allreduce(g_, total_, static_cast<int>(elements_), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  }

  void adam_all_reduce() {
    all_reduce();
    adam_loop(scalars_, ranks_, total_, state_, 0, elements_);
  }

  void adam_reduce_scatter() {
    need(MPI_Reduce_scatter(g_, total_, counts_.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    adam_loop(scalars_, ranks_, total_, state_, begins_[rank_], counts_[rank_]);
    need(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, state_.p, counts_.data(),
                        begins_.data(), MPI_FLOAT, MPI_COMM_WORLD));
  }

  int rank_, ranks_;
  std::int64_t elements_;
  Arrays arrays_;
  float* g_;
  float* total_;
  AdamState state_ = {};
  AdamScalars scalars_;
  std::vector<int> begins_, counts_;
};

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  need(MPI_Init(&argc, &argv));
  int rank = 0, ranks = 0;
  need(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  need(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  pin(arguments, rank);
  {
    MpiOperations operations(arguments, rank, ranks);
    serve(arguments, rank, operations);
  }
  need(MPI_Finalize());
  return 0;
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  try {
    return coconet::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
