#include "bench/harness/workload.h"

#include <algorithm>
#include <numeric>

#include "bench/worker/product.h"
#include "bench/worker/rows.h"

namespace coconet::bench {

namespace {

// Of a sum the bits, of two ranks; of a step in f32, whatever order its loop has, against double.
constexpr double kExact = 0, kStepBound = 5e-6;

// Elements of a step where two more flags on the way may take longer than twice the work.
constexpr std::int64_t kSmallStep = 4096;

void add_steps(Group& group, const std::string& suffix, const std::vector<std::string>& more) {
  const bool small = suffix.empty() && group.problem.elements <= kSmallStep;
  for (const std::string name : {"adam", "lamb"}) {
    for (const std::string dtype : {"f32", "f16"}) {
      std::vector<std::string> forms = {"all_reduce", dtype == "f16" ? "all_to_all" : "scatter"};
      forms.insert(forms.end(), more.begin(), more.end());
      group.workloads.push_back({.name = name + suffix,
                                 .dtype = dtype,
                                 .forms = forms,
                                 .bound = kStepBound,
                                 .contiguous = suffix.empty() ? "" : name,
                                 .schedule = "sharded",
                                 .small_schedule = small ? "whole" : ""});
    }
  }
}

// So many rows at most give some ranks of the mesh nothing, or so little, to do.
constexpr std::int64_t kFewRows = 2;

double as_bytes(const std::string& dtype) { return dtype == "f32" ? 4 : 2; }

// Elements of its largest tensor.
double elements_of(const Problem& problem) {
  return static_cast<double>(problem.m > 0 ? problem.m * problem.n : problem.elements);
}

}  // namespace

Group optimizers_group(std::int64_t elements) {
  Group out{"optimizers", {.elements = elements}, {}};
  out.workloads.push_back(
      {.name = "all_reduce", .dtype = "f32", .forms = {"plain"}, .bound = kExact});
  add_steps(out, "", {});
  return out;
}

std::vector<std::int64_t> bert_tensors(std::int64_t scale) {
  constexpr std::pair<int, std::int64_t> kTensors[] = {
      {1, 31'260'672}, {48, 4'194'304}, {98, 1'048'576}, {1, 30'528},
      {24, 4'096},     {2, 2'048},      {222, 1'024}};
  std::vector<std::int64_t> out;
  for (const auto& [count, elements] : kTensors) {
    out.insert(out.end(), static_cast<std::size_t>(count),
               std::max(elements / scale, std::min<std::int64_t>(elements, 1024)));
  }
  return out;
}

Group lists_group(std::int64_t scale) {
  Group out{"optimizers", {.members = bert_tensors(scale)}, {}};
  const auto& members = out.problem.members;
  out.problem.elements = std::accumulate(members.begin(), members.end(), std::int64_t{0});
  add_steps(out, "_list", {"per_tensor"});
  return out;
}

Group rows_group(std::int64_t m, std::int64_t n) {
  return {"rows",
          {.m = m, .n = n},
          {{.name = "rms_norm",
            .dtype = "bf16",
            .forms = {"all_reduce", "scatter", "gather"},
            .bound = kRowBound,
            .summed = "bf16",
            .schedule = "fused",
            .small_schedule = m <= kFewRows ? "whole" : ""}}};
}

Group products_group(std::int64_t m, std::int64_t n, std::int64_t k) {
  Group out{"products", {.m = m, .n = n, .k = k}, {}};
  for (const std::string dtype : {"f32", "bf16"}) {
    out.workloads.push_back({.name = "matmul",
                             .dtype = dtype,
                             .forms = {"all_reduce", "scatter"},
                             .bound = product_bound(dtype == "bf16"),
                             .summed = dtype,
                             .schedule = "overlapped",
                             .product = true});
  }
  return out;
}

std::string size_text(const Problem& problem) {
  if (problem.m > 0) {
    const std::string rows = std::to_string(problem.m) + "x" + std::to_string(problem.n);
    return problem.k > 0 ? rows + "x" + std::to_string(problem.k) : rows;
  }
  if (!problem.members.empty()) {
    return std::to_string(problem.members.size()) + ":" + std::to_string(problem.elements);
  }
  int power = 0;
  while ((problem.elements >> power) > 1) ++power;
  return (std::int64_t{1} << power) == problem.elements ? "2^" + std::to_string(power)
                                                        : std::to_string(problem.elements);
}

Traffic traffic_of(const Workload& workload, const Problem& problem, int ranks) {
  const double n = elements_of(problem), size = as_bytes(workload.dtype);
  const double parts = size * n * ranks, exchanged = size * n * (ranks - 1);
  if (workload.name == "all_reduce") return {parts, parts, exchanged};
  if (workload.name == "rms_norm") return {parts + size * n, 2 * parts, exchanged};
  if (workload.product) return {parts + size * n, parts, exchanged};
  // p, m, v are read once, and p of all ranks and m, v are written; LAMB's direction is written and
  // read, and p read again, after the norms.
  const bool lamb = workload.name.starts_with("lamb");
  return {parts + (lamb ? 5 : 3) * 4 * n, (ranks + (lamb ? 3 : 2)) * 4 * n, exchanged};
}

std::int64_t footprint_of(const Workload& workload, const Problem& problem, int ranks) {
  const auto n = static_cast<std::int64_t>(elements_of(problem));
  if (workload.name == "all_reduce" || workload.product) return 4 * n;
  if (workload.name == "rms_norm") return 3 * n;  // x, r, added, out in bf16, and some more
  return (2 * 4 * n + (2 * 4 * n + ranks - 1) / ranks) / 2;  // g, p, half of m and v
}

std::int64_t exchanged_of(const Workload& workload, const Problem& problem, int ranks) {
  const double bytes = elements_of(problem) * (workload.name == "rms_norm" ? 2 : 4);
  return static_cast<std::int64_t>(bytes) / ranks;
}

double memory_of_ours(const Workload& workload, const Problem& problem, int ranks) {
  const double n = elements_of(problem);
  if (workload.product) {
    const auto k = static_cast<double>(problem.k);
    const double x = static_cast<double>(problem.m) * k, w = static_cast<double>(problem.n) * k;
    return as_bytes(workload.dtype) * (4 * n + x + 2 * w) + 4 * w;
  }
  if (workload.name == "rms_norm") return 2 * 5 * n;
  return workload.name == "all_reduce" ? 8 * n : 4 * n * (2 + 3 + 2.0 / ranks);
}

double memory_of_peer(const Group& group, int ranks) {
  const double n = elements_of(group.problem);
  double out = 0;
  for (const Workload& workload : group.workloads) {
    if (workload.product) out += memory_of_ours(workload, group.problem, ranks);
  }
  if (out > 0) return out;
  if (group.name == "rows") return 2 * n * (6 + ranks);
  return n * (group.problem.members.empty() ? 5 * 4 + 2 * 2 : 7 * 4 + 3 * 2);
}

}  // namespace coconet::bench
