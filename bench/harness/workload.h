// What is measured: workloads, in groups of the same size whose buffers a peer's rank shares.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/floor.h"
#include "bench/worker/problem.h"

namespace coconet::bench {

struct Workload {
  std::string name, dtype;          // of ours the program; adam's dtype is that of the gradients
  std::vector<std::string> forms;   // of peers (peers/operations.h); the best counts
  double bound;                     // of the difference that a check may give
  std::string summed = "f32";       // dtype of the all_reduce that it holds
  std::string contiguous = {};      // of lists: the workload over one tensor of as many elements
  std::string schedule = "none";    // of ours
  std::string small_schedule = {};  // another that may be quicker at this size
  bool product = false;             // its floor is the product alone
};

struct Group {
  std::string name;  // optimizers, rows, products: what a peer's rank gets as its argument `group`
  Problem problem;
  std::vector<Workload> workloads;
};

// all_reduce, and steps of optimizers on flat tensors.
Group optimizers_group(std::int64_t elements);
// Steps on BERT-large's 396 tensors, the large ones 1/scale of what they are, none below 1,024
// elements that is not so already.
Group lists_group(std::int64_t scale);
std::vector<std::int64_t> bert_tensors(std::int64_t scale);
// Sum, residual, rms_norm of bf16.
Group rows_group(std::int64_t m, std::int64_t n);
// Product of m x k by k x n on each rank, sum, bias, dropout, residual.
Group products_group(std::int64_t m, std::int64_t n, std::int64_t k);

// "2^10", "512x4096", ...
std::string size_text(const Problem& problem);

// Of all ranks together, in one iteration; of a product what follows it.
Traffic traffic_of(const Workload& workload, const Problem& problem, int ranks);
// Bytes of each of the two arrays of a rank of the floor participant, so that it works on as much
// memory as the workload; and of what it exchanges.
std::int64_t footprint_of(const Workload& workload, const Problem& problem, int ranks);
std::int64_t exchanged_of(const Workload& workload, const Problem& problem, int ranks);

// Bytes that a rank of ours, and of a peer, takes.
double memory_of_ours(const Workload& workload, const Problem& problem, int ranks);
double memory_of_peer(const Group& group, int ranks);

}  // namespace coconet::bench
