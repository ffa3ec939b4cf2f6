#include "bench/ours/ours.h"
#include "bench/worker/expected.h"
#include "bench/worker/half.h"
#include "coconet/type/list.h"
#include "coconet/type/piece.h"

namespace coconet::bench {
namespace {

class AllReduce : public Ours {
 public:
  AllReduce(execute::RankCalls& calls, const Problem& problem, int ranks)
      : Ours(calls, ranks), elements_(problem.elements) {}
  void use_buffers(const std::string&) override { use_between_calls({"y"}, "x"); }

 private:
  void fill() override {
    const auto x = own<float>("x");
    for (std::int64_t i = 0; i < elements_; ++i) x[i] = gradient(calls_.rank(), i);
    for (float& element : own<float>("y")) element = -1;
  }
  double difference() override {
    const auto y = own<float>("y");
    double out = 0;
    for (std::int64_t i = 0; i < elements_; i += compared_step(elements_)) {
      out = worse(out, y[i], total(ranks_, i));
    }
    return out;
  }

  std::int64_t elements_;
};

// A flat tensor is a list of one member here. Members stand one after the other, each from the
// beginning of a block; states are sliced by blocks.
class Step : public Ours {
 public:
  Step(execute::RankCalls& calls, bool lamb, bool half, const Problem& problem, int ranks)
      : Ours(calls, ranks),
        half_(half),
        problem_(problem),
        of_(half ? short_gradient : gradient),
        expected_(lamb, problem, ranks, of_) {
    if (problem_.members.empty()) problem_.members = {problem_.elements};
    std::int64_t blocks = 0;
    for (const std::int64_t member : problem_.members) {
      places_.push_back(blocks * kBlock);
      blocks += (member + kBlock - 1) / kBlock;
    }
    const bool listed = problem_.members.size() > 1;
    packed_ = listed ? blocks * kBlock : problem_.elements;
  }

  void use_buffers(const std::string&) override { use_between_calls({"p"}, "g"); }

 private:
  // f(member, i of all elements, its place), every step-th.
  template <class F>
  void each(std::int64_t step, F&& f) {
    std::int64_t first = 0;
    for (std::size_t k = 0; k < problem_.members.size(); ++k) {
      for (std::int64_t at = 0; at < problem_.members[k]; at += step) {
        f(k, first + at, places_[k] + at);
      }
      first += problem_.members[k];
    }
  }

  void fill() override {
    const auto p = own<float>("p"), m = own<float>("m"), v = own<float>("v");
    const auto g = own<float>("g");
    const auto short_g = own<Half>("g");
    const Cut state = own_state(m.size());
    each(1, [&](std::size_t, std::int64_t i, std::int64_t place) {
      p[place] = parameter(i);
      if (half_) {
        short_g[place] = half_of(of_(calls_.rank(), i));
      } else {
        g[place] = of_(calls_.rank(), i);
      }
      if (place < state.begin || place >= state.begin + state.count) return;
      m[place - state.begin] = first_moment(i);
      v[place - state.begin] = second_moment(i);
    });
  }

  double difference() override {
    const auto p = own<float>("p"), m = own<float>("m"), v = own<float>("v");
    const Cut state = own_state(m.size());
    double out = 0;
    each(compared_step(problem_.elements), [&](std::size_t k, std::int64_t i, std::int64_t place) {
      const StepValues want = expected_.at(k, i);
      out = worse(out, p[place], want.p);
      if (place < state.begin || place >= state.begin + state.count) return;
      out = worse(worse(out, m[place - state.begin], want.m), v[place - state.begin], want.v);
    });
    return out;
  }

  // Of states: whole without a schedule.
  Cut own_state(std::size_t held) const {
    const Cut sliced = cut(packed_, ranks_, calls_.rank(), kBlock);
    if (static_cast<std::int64_t>(held) == packed_) return {0, packed_};
    return sliced;
  }

  bool half_;
  Problem problem_;
  decltype(gradient)& of_;
  ExpectedStep expected_;
  std::vector<std::int64_t> places_;  // of members
  std::int64_t packed_ = 0;
};

}  // namespace

std::unique_ptr<Operations> our_optimizer(execute::RankCalls& calls, const std::string& program,
                                          bool half, const Problem& problem, int ranks) {
  if (program == "all_reduce") return std::make_unique<AllReduce>(calls, problem, ranks);
  return std::make_unique<Step>(calls, program.starts_with("lamb"), half, problem, ranks);
}

}  // namespace coconet::bench
