#include "coconet/plan/cost.h"

#include <algorithm>
#include <cmath>

#include "coconet/plan/access.h"
#include "coconet/plan/one_shot.h"

namespace coconet::plan {
namespace {

// Of an addition: what one element takes, as measured of generated kernels on AVX-512, roughly.
double weight_of(PointwiseFn fn) {
  switch (fn) {
    case PointwiseFn::div:
    case PointwiseFn::sqrt:
    case PointwiseFn::rsqrt: return 6;
    case PointwiseFn::exp:
    case PointwiseFn::sigmoid:
    case PointwiseFn::silu:
    case PointwiseFn::log: return 15;
    case PointwiseFn::tanh:
    case PointwiseFn::erf:
    case PointwiseFn::gelu: return 25;
    case PointwiseFn::pow: return 60;
    case PointwiseFn::add:
    case PointwiseFn::sub:
    case PointwiseFn::mul:
    case PointwiseFn::neg:
    case PointwiseFn::abs:
    case PointwiseFn::relu:
    case PointwiseFn::min:
    case PointwiseFn::max:
    case PointwiseFn::lt:
    case PointwiseFn::le:
    case PointwiseFn::gt:
    case PointwiseFn::ge:
    case PointwiseFn::eq:
    case PointwiseFn::ne:
    case PointwiseFn::logical_and:
    case PointwiseFn::logical_or:
    case PointwiseFn::logical_not:
    case PointwiseFn::where: break;
  }
  return 1;
}

double weight_of(const Statement& statement) {
  if (std::holds_alternative<Load>(statement.action)) return 0.5;
  if (std::holds_alternative<ReduceRun>(statement.action)) return 1.5;
  const Compute* compute = std::get_if<Compute>(&statement.action);
  if (!compute) return 1;
  if (const Pointwise* pointwise = std::get_if<Pointwise>(&compute->op)) {
    return weight_of(pointwise->fn);
  }
  if (std::holds_alternative<Dropout>(compute->op)) return 25;
  return std::holds_alternative<Cast>(compute->op) ? 1 : 0;
}

// Chunks of a product of few rows read the other operand again and again.
constexpr double kFewRows = 96, kFewRowsFactor = 1.2;
// Of a wait inside an overlapped group: peers are a turn ahead, so it is mostly over.
constexpr double kHidden = 0.25;

class Estimate {
 public:
  Estimate(const BoundPlan& bound, const Rates& rates, Protocol protocol, int rank)
      : bound_(bound),
        plan_(*bound.plan),
        rates_(rates),
        one_shot_(protocol == Protocol::one_shot),
        rank_(rank) {
    double bytes = 0;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      bytes += static_cast<double>(bound_.buffers[b].bytes);
    }
    level_ = bytes <= rates.cache_bytes ? Rates::cached : Rates::memory;
  }

  Cost cost() {
    Cost out;
    for (int i = 0; i < static_cast<int>(plan_.launches.size()); ++i) {
      out.launches.push_back(of_launch({i}));
      out.microseconds += out.launches.back();
    }
    const bool entry = bound_.mesh.ranks() > 1;
    out.microseconds +=
        (entry ? rates_.wait_us : 0) + (plan_.exit_waits.empty() || one_shot_ ? 0 : rates_.wait_us);
    return out;
  }

 private:
  double of_launch(LaunchId id) const {
    const Launch& launch = plan_.launch(id);
    const int chunks = bound_.chunks_of(id);
    double out = rates_.launch_us * chunks;
    if (!one_shot_) {
      const auto after_launch = [](const Wait& wait) { return wait.on.valid(); };
      if (std::ranges::any_of(launch.waits, after_launch)) {
        out += rates_.wait_us * (1 + kHidden * (chunks - 1));
      }
    }
    if (std::holds_alternative<Kernel>(launch.work)) return out + of_kernel(launch);
    if (const MatmulLaunch* matmul = std::get_if<MatmulLaunch>(&launch.work)) {
      return out + of_matmul(*matmul, chunks);
    }
    if (const Conv2dLaunch* conv = std::get_if<Conv2dLaunch>(&launch.work)) {
      const std::vector<std::int64_t>& w = bound_.buffers[conv->w.index].sizes;
      return out + product_time(conv->x, 2 * held(conv->out) * double(w[1] * w[2] * w[3]));
    }
    for (const Access& access : accesses_of(plan_, launch)) out += own_time(access.buffer);
    return out;
  }

  double held(BufferId buffer) const {
    return static_cast<double>(bound_.piece(plan_.buffer(buffer).type, rank_).count());
  }
  double bytes_of(BufferId buffer) const {
    return static_cast<double>(size_of(plan_.buffer(buffer).type.dtype.kind));
  }
  // What lives in a few chunks' memory never leaves the caches.
  Rates::Level level_of(BufferId buffer) const {
    return bound_.buffers[buffer.index].ring > 0 ? Rates::cached : level_;
  }
  double own_time(BufferId buffer) const {
    return held(buffer) * bytes_of(buffer) / rates_.own[level_of(buffer)];
  }

  // Elements of the buffer that a kernel over `space` elements touches.
  double touched(const Kernel& kernel, BufferId buffer, double space) const {
    const TensorType& type = plan_.buffer(buffer).type;
    if (type.shape == kernel.space.shape) return space;
    const bool block = type.rank() == 1 && (type.shape[0].is_blocks() || type.is_scalar_list());
    return std::min(held(buffer), block ? std::ceil(space / kBlock) : space);
  }

  double peers(const AxisList& axes) const {
    return axes.empty() ? 0 : static_cast<double>(bound_.mesh.group(rank_, axes).size() - 1);
  }

  double of_kernel(const Launch& launch) const {
    const Kernel& kernel = std::get<Kernel>(launch.work);
    const TensorType type = one_shot_ ? one_shot_space(kernel) : kernel.space;
    const double space = static_cast<double>(bound_.piece(type, rank_).count());
    double moving = 0;
    std::vector<BufferId> read;
    for (const Access& access : accesses_of(plan_, launch)) {
      if (access.write || std::ranges::count(read, access.buffer) > 0) continue;
      read.push_back(access.buffer);
      const double bytes = touched(kernel, access.buffer, space) * bytes_of(access.buffer);
      const Rates::Level level = level_of(access.buffer);
      moving += bytes / rates_.own[level] + bytes * peers(access.reach) / rates_.from_peer[level];
    }
    for (const Store& store : kernel.stores) {
      const double bytes = touched(kernel, store.buffer, space) * bytes_of(store.buffer);
      const Rates::Level level = level_of(store.buffer);
      double others = one_shot_ ? 0 : peers(reach_of(store));
      if (store.to) others = std::min(others, 1.0);
      if (store.held) others /= peers(reach_of(store)) + 1;
      moving += bytes / rates_.own[level] + bytes * others / rates_.to_peer[level];
    }
    return std::max(moving, computing(kernel) * space) +
           0.3 * std::min(moving, computing(kernel) * space);
  }

  // Microseconds an element.
  double computing(const Kernel& kernel) const {
    double others = 0;
    for (const Statement& statement : kernel.statements) {
      const FoldPeers* fold = std::get_if<FoldPeers>(&statement.action);
      if (fold) others = peers(fold->axes);
    }
    double out = 0;
    for (const Statement& statement : kernel.statements) {
      if (statement.level != Level::element) continue;
      out += weight_of(statement) * (statement.per_peer ? others + 1 : 1);
    }
    return out * rates_.operation_us;
  }

  double of_matmul(const MatmulLaunch& matmul, int chunks) const {
    const double a = held(matmul.a), b = held(matmul.b), out = held(matmul.out);
    if (a == 0 || b == 0 || out == 0) return 0;
    double batches = 1;
    const std::vector<std::int64_t>& sizes = bound_.buffers[matmul.b.index].sizes;
    for (std::size_t d = 0; d + 2 < sizes.size(); ++d) batches *= static_cast<double>(sizes[d]);
    const double k = std::sqrt(a / out * b / batches);
    const double rows = a / k / batches / chunks;
    const double factor = chunks > 1 && rows < kFewRows ? kFewRowsFactor : 1;
    return factor * product_time(matmul.a, 2 * out * k);
  }

  double product_time(BufferId operand, double operations) const {
    const auto rate = rates_.products.find(plan_.buffer(operand).type.dtype.kind);
    return operations / (rate == rates_.products.end() ? 50'000 : rate->second);
  }

  const BoundPlan& bound_;
  const Plan& plan_;
  const Rates& rates_;
  bool one_shot_;
  int rank_;
  Rates::Level level_ = Rates::memory;
};

}  // namespace

Cost cost_of(const BoundPlan& bound, const Rates& rates, Protocol protocol) {
  Cost out;
  for (int rank = 0; rank < bound.mesh.ranks(); ++rank) {
    Cost cost = Estimate(bound, rates, protocol, rank).cost();
    if (rank == 0 || cost.microseconds > out.microseconds) out = std::move(cost);
  }
  return out;
}

}  // namespace coconet::plan
