#include "bench/worker/expected.h"

#include <cmath>

namespace coconet::bench {

ExpectedStep::ExpectedStep(bool lamb, const Problem& problem, int ranks, decltype(gradient)& of)
    : lamb_(lamb), ranks_(ranks), of_(of) {
  double power1 = 1, power2 = 1;
  for (int step = 0; step < with_.step; ++step) {
    power1 *= static_cast<double>(with_.beta1);
    power2 *= static_cast<double>(with_.beta2);
  }
  rest1_ -= power1;
  rest2_ -= power2;
  if (!lamb) return;
  const std::vector<std::int64_t> whole = {problem.elements};
  std::int64_t i = 0;
  for (const std::int64_t member : problem.members.empty() ? whole : problem.members) {
    double np = 0, nu = 0;
    for (const std::int64_t end = i + member; i < end; ++i) {
      const double p = parameter(i), u = direction(i).u;
      np += p * p;
      nu += u * u;
    }
    ratios_.push_back(np > 0 && nu > 0 ? std::sqrt(np / nu) : 1);
  }
}

ExpectedStep::Direction ExpectedStep::direction(std::int64_t i) const {
  const double beta1 = with_.beta1, beta2 = with_.beta2;
  const double mean = static_cast<double>(total(ranks_, i, of_)) / ranks_;
  const double m = beta1 * first_moment(i) + (1 - beta1) * mean;
  const double v = beta2 * second_moment(i) + (1 - beta2) * mean * mean;
  const double u = m / rest1_ / (std::sqrt(v / rest2_) + with_.eps);
  return {lamb_ ? u + with_.wd * parameter(i) : u, m, v};
}

StepValues ExpectedStep::at(std::size_t member, std::int64_t i) const {
  const Direction to = direction(i);
  const double ratio = lamb_ ? ratios_[member] : 1;
  return {parameter(i) - with_.lr * ratio * to.u, to.m, to.v};
}

}  // namespace coconet::bench
