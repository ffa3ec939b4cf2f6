// A rank of an MPI library: one source for all of them, compiled by each one's mpicxx.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include "bench/worker/adam.h"
#include "bench/worker/arrays.h"
#include "bench/worker/half.h"
#include "bench/worker/inputs.h"
#include "bench/worker/serve.h"
#include "bench/worker/use.h"

namespace coconet::bench {
namespace {

void need(int status) {
  if (status != MPI_SUCCESS) throw std::runtime_error("MPI failed");
}

// What is named adam16 has f16 gradients.
bool is_short(const std::string& name) { return name.starts_with("adam16"); }

class MpiOperations : public Operations {
 public:
  MpiOperations(const Arguments& arguments, int rank, int ranks)
      : rank_(rank),
        ranks_(ranks),
        elements_(arguments.number("elements")),
        arrays_(arguments.text("pages") == "huge"),
        g_(arrays_.make<float>(elements_)),
        total_(arrays_.make<float>(elements_)),
        state_{arrays_.make<float>(elements_), arrays_.make<float>(elements_),
               arrays_.make<float>(elements_)},
        short_g_(arrays_.make<Half>(elements_)),
        pieces_(arrays_.make<Half>(elements_ + ranks)) {
    for (int r = 0; r < ranks; ++r) {
      const std::int64_t begin = elements_ * r / ranks, end = elements_ * (r + 1) / ranks;
      begins_.push_back(static_cast<int>(begin));
      counts_.push_back(static_cast<int>(end - begin));
    }
    for (int r = 0; r < ranks; ++r) {
      own_counts_.push_back(counts_[rank]);
      own_begins_.push_back(r * counts_[rank]);
    }
    for (std::int64_t i = 0; i < elements_; ++i) {
      g_[i] = gradient(rank, i);
      short_g_[i] = half_of(short_gradient(rank, i));
    }
  }

  std::function<void()> operation(const std::string& name) override {
    if (name == "all_reduce") return [this] { all_reduce(g_); };
    if (name == "adam_all_reduce") return [this] { adam_all_reduce(g_); };
    if (name == "adam_reduce_scatter") return [this] { adam_reduce_scatter(g_); };
    if (name == "adam16_all_reduce") return [this] { adam_all_reduce(widened_gradients()); };
    if (name == "adam16_all_to_all") return [this] { adam16_all_to_all(); };
    throw std::runtime_error("no operation " + name);
  }

  void use_buffers(const std::string& name) override {
    const float* outputs = name == "all_reduce" ? total_ : state_.p;
    if (is_short(name)) {
      use(outputs, elements_, short_g_, elements_);
    } else {
      use(outputs, elements_, g_, elements_);
    }
  }

  double check(const std::string& name) override {
    for (std::int64_t i = 0; i < elements_; ++i) {
      total_[i] = -1;
      state_.p[i] = parameter(i);
      state_.m[i] = first_moment(i);
      state_.v[i] = second_moment(i);
      if (!is_short(name)) g_[i] = gradient(rank_, i);  // else a place to widen to
    }
    operation(name)();
    double out = 0;
    if (name == "all_reduce") {
      for (std::int64_t i = 0; i < elements_; i += compared_step(elements_)) {
        out = worse(out, total_[i], bench::total(ranks_, i));
      }
      return out;
    }
    const bool slices = !name.ends_with("all_reduce");
    for (std::int64_t i = 0; i < elements_; i += compared_step(elements_)) {
      const AdamValues want =
          adam_expected(scalars_, ranks_, i, is_short(name) ? short_gradient : gradient);
      out = worse(out, state_.p[i], want.p);
      if (slices && (i < begins_[rank_] || i >= begins_[rank_] + counts_[rank_])) continue;
      out = worse(worse(out, state_.m[i], want.m), state_.v[i], want.v);
    }
    return out;
  }

 private:
  void all_reduce(const float* g) {
    need(MPI_Allreduce(g, total_, static_cast<int>(elements_), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  }

  void adam_all_reduce(const float* g) {
    all_reduce(g);
    adam_loop(scalars_, ranks_, total_, state_, 0, elements_);
  }

  void adam_reduce_scatter(const float* g) {
    need(MPI_Reduce_scatter(g, total_, counts_.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    adam_loop(scalars_, ranks_, total_, state_, begins_[rank_], counts_[rank_]);
    gather_parameters();
  }

  void gather_parameters() {
    need(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, state_.p, counts_.data(),
                        begins_.data(), MPI_FLOAT, MPI_COMM_WORLD));
  }

  const float* widened_gradients() {
    widen(short_g_, g_, elements_, false);
    return g_;
  }

  // 16 bits travel: everybody gets his slice of everybody's gradients, and sums block by block.
  void adam16_all_to_all() {
    need(MPI_Alltoallv(short_g_, counts_.data(), begins_.data(), MPI_UINT16_T, pieces_,
                       own_counts_.data(), own_begins_.data(), MPI_UINT16_T, MPI_COMM_WORLD));
    constexpr std::int64_t kBlock = 1024;
    alignas(64) float sum[kBlock];
    const std::int64_t count = counts_[rank_];
    for (std::int64_t at = 0; at < count; at += kBlock) {
      const std::int64_t length = std::min(kBlock, count - at);
      for (int r = 0; r < ranks_; ++r) widen(pieces_ + r * count + at, sum, length, r > 0);
      adam_loop(scalars_, ranks_, sum, state_, begins_[rank_] + at, length);
    }
    gather_parameters();
  }

  int rank_, ranks_;
  std::int64_t elements_;
  Arrays arrays_;
  float* g_;
  float* total_;
  AdamState state_;
  Half* short_g_;
  Half* pieces_;
  AdamScalars scalars_;
  // Elements of every rank's slice; of what this rank gets of each in an all-to-all.
  std::vector<int> begins_, counts_, own_begins_, own_counts_;
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
