// The rules of pointwise functions.
#include <cmath>
#include <numbers>

#include "coconet/base/error.h"
#include "coconet/gradient/derivation.h"

namespace coconet::gradients {
namespace {

// One node's rule. Products of several values are computed in the accumulator's dtype.
class Rule {
 public:
  Rule(Derivation& d, NodeId id, NodeId dy) : d_(d), id_(id), dy_(dy) {}

  void derive() {
    const Node& node = d_.program().node(id_);
    switch (std::get<Pointwise>(node.op).fn) {
      using enum PointwiseFn;
      case add: give(0, dy_); return give(1, dy_);
      case sub: give(0, dy_); return give_if(1, [&] { return d_.apply(neg, {dy_}); });
      case mul:
        give_if(0, [&] { return times(dy_, x(1)); });
        return give_if(1, [&] { return times(dy_, x(0)); });
      case div: return derive_div();
      case neg: return give_if(0, [&] { return d_.apply(neg, {dy_}); });
      case pow: return derive_pow();
      case min:
      case max: return derive_choice(std::get<Pointwise>(node.op).fn == max ? ge : le);
      case where: return derive_where();
      case abs:
      case sqrt:
      case rsqrt:
      case exp:
      case log:
      case tanh:
      case erf:
      case relu:
      case gelu:
      case silu:
      case sigmoid:
        return give_if(0, [&] { return slope_times_dy(std::get<Pointwise>(node.op).fn); });
      case lt:
      case le:
      case gt:
      case ge:
      case eq:
      case ne:
      case logical_and:
      case logical_or:
      case logical_not: return;  // no floating value
    }
  }

 private:
  NodeId operand(std::size_t i) const { return d_.program().node(id_).inputs[i]; }
  NodeId x(std::size_t i) { return d_.value(operand(i)); }
  NodeId wide(std::size_t i) { return d_.wide(x(i)); }
  NodeId y() { return d_.wide(d_.value(id_)); }
  NodeId wide_dy() { return d_.wide(dy_); }

  void give(std::size_t i, NodeId summand) { d_.contribute_broadcast(operand(i), summand); }
  template <class Make>
  void give_if(std::size_t i, const Make& make) {
    if (d_.wanted(operand(i))) give(i, make());
  }
  NodeId times(NodeId a, NodeId b) { return d_.apply(PointwiseFn::mul, {a, b}); }
  NodeId over(NodeId a, NodeId b) { return d_.apply(PointwiseFn::div, {a, b}); }
  NodeId plus(NodeId a, NodeId b) { return d_.apply(PointwiseFn::add, {a, b}); }
  NodeId minus(NodeId a, NodeId b) { return d_.apply(PointwiseFn::sub, {a, b}); }
  NodeId zero() { return d_.number(0, dy_); }
  NodeId choose(NodeId condition, NodeId a, NodeId b) {
    return d_.apply(PointwiseFn::where, {condition, a, b});
  }

  void derive_div() {
    give_if(0, [&] { return over(dy_, x(1)); });
    give_if(1, [&] { return d_.apply(PointwiseFn::neg, {over(times(wide_dy(), y()), wide(1))}); });
  }

  // a^b: b a^(b-1), and a^b log a where a is above 0.
  void derive_pow() {
    give_if(0, [&] {
      const NodeId a = wide(0);
      const NodeId b = x(1);
      const bool integer = !is_floating(d_.type(b).dtype.kind);
      const NodeId one =
          integer ? d_.add(Constant{std::int64_t{1}, d_.type(b).dtype}, {}) : d_.number(1, wide(1));
      const NodeId exponent = minus(integer ? b : wide(1), one);
      const NodeId factor = integer ? d_.cast(b, d_.type(a).dtype) : wide(1);
      return times(times(wide_dy(), factor), d_.apply(PointwiseFn::pow, {a, exponent}));
    });
    give_if(1, [&] {
      const NodeId a = wide(0);
      const NodeId above = d_.apply(PointwiseFn::gt, {a, d_.number(0, a)});
      const NodeId log = d_.apply(PointwiseFn::log, {choose(above, a, d_.number(1, a))});
      return times(times(wide_dy(), y()), log);
    });
  }

  // Where both are equal each gets half, as in PyTorch.
  void derive_choice(PointwiseFn wins) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      give_if(i, [&] {
        const NodeId mine = x(i), other = x(1 - i);
        const NodeId equal = d_.apply(PointwiseFn::eq, {mine, other});
        const NodeId half = choose(equal, times(dy_, d_.number(0.5, dy_)), dy_);
        return choose(d_.apply(wins, {mine, other}), half, zero());
      });
    }
  }

  void derive_where() {
    give_if(1, [&] { return choose(x(0), dy_, zero()); });
    give_if(2, [&] { return choose(x(0), zero(), dy_); });
  }

  NodeId sign_times_dy() {
    const NodeId a = x(0), none = d_.number(0, a);
    const NodeId negative =
        choose(d_.apply(PointwiseFn::lt, {a, none}), d_.apply(PointwiseFn::neg, {dy_}), zero());
    return choose(d_.apply(PointwiseFn::gt, {a, none}), dy_, negative);
  }

  // exp(-x^2 / width) * scale.
  NodeId bell(NodeId a, double width, double scale) {
    const NodeId power = over(times(a, a), d_.number(-width, a));
    return times(d_.apply(PointwiseFn::exp, {power}), d_.number(scale, a));
  }

  NodeId slope_times_dy(PointwiseFn fn) {
    using enum PointwiseFn;
    if (fn == abs) return sign_times_dy();
    if (fn == relu) {
      return choose(d_.apply(gt, {x(0), d_.number(0, x(0))}), dy_, zero());
    }
    const NodeId dy = wide_dy();
    const NodeId a = wide(0);
    const NodeId one = d_.number(1, a);
    switch (fn) {
      case sqrt: return over(dy, times(d_.number(2, a), y()));
      case rsqrt: return times(times(dy, over(y(), a)), d_.number(-0.5, a));
      case exp: return times(dy, y());
      case log: return over(dy, a);
      case tanh: return times(dy, minus(one, times(y(), y())));
      case sigmoid: return times(dy, times(y(), minus(one, y())));
      case erf: return times(dy, bell(a, 1, 2 / std::sqrt(std::numbers::pi)));
      case silu: {
        const NodeId s = d_.apply(sigmoid, {a});
        return times(dy, times(s, plus(one, times(a, minus(one, s)))));
      }
      case gelu: {
        const NodeId half = d_.number(0.5, a);
        const NodeId area = d_.apply(erf, {times(a, d_.number(std::sqrt(0.5), a))});
        const NodeId density = bell(a, 2, 1 / std::sqrt(2 * std::numbers::pi));
        return times(dy, plus(times(half, plus(one, area)), times(a, density)));
      }
      default: check(false, "every function of one operand has a slope"); return dy;
    }
  }

  Derivation& d_;
  NodeId id_, dy_;
};

}  // namespace

void derive_pointwise(Derivation& d, NodeId id, NodeId dy) { Rule(d, id, dy).derive(); }

}  // namespace coconet::gradients
