#include "coconet/simulate/tensor_turns.h"

#include <algorithm>
#include <array>
#include <map>

#include "coconet/base/error.h"

namespace coconet::simulate {

using interp::ScalarValue;

namespace {

constexpr int kLanes = 16;
constexpr std::size_t kSteps = 4;

// Results of the turn, one by one, in kSteps steps.
class ResultsTurn : public TurnWork {
 public:
  ResultsTurn(const Context& context, const plan::Turn& turn, int rank, plan::BufferId out)
      : context_(context),
        actor_{rank, &turn, context.call},
        out_(out),
        piece_(context.piece(out, rank)),
        held_(plan::held_in_turn(context.bound, piece_, turn)) {}

  bool step() override {
    const std::size_t end =
        std::min(held_.size(), next_ + std::max<std::size_t>(1, held_.size() / kSteps));
    for (; next_ < end; ++next_) {
      const std::int64_t index = held_[next_];
      const auto at = plan::coordinates_of(piece_.sizes(), piece_.global(index));
      context_.memory.write(actor_, out_, actor_.rank, index, result(index, at));
    }
    return next_ == held_.size();
  }

 protected:
  virtual ScalarValue result(std::int64_t index, const plan::Coordinates& at) = 0;
  ScalarValue read(plan::BufferId buffer, std::int64_t index) const {
    return context_.memory.read(actor_, buffer, actor_.rank, index);
  }
  const Piece& piece(plan::BufferId buffer) const { return context_.piece(buffer, actor_.rank); }
  const plan::Buffer& buffer(plan::BufferId id) const { return context_.bound.plan->buffer(id); }

  const Context& context_;
  Actor actor_;
  plan::BufferId out_;
  const Piece& piece_;

 private:
  std::vector<std::int64_t> held_;
  std::size_t next_ = 0;
};

// Sums over the part of K that both operands hold, k ascending: in f64, rounded once; integers wrap
// in the result's dtype.
class MatmulTurn : public ResultsTurn {
 public:
  MatmulTurn(const Context& context, const plan::Turn& turn, int rank,
             const plan::MatmulLaunch& launch)
      : ResultsTurn(context, turn, rank, launch.out), launch_(launch) {}

 protected:
  ScalarValue result(std::int64_t, const plan::Coordinates& at) override {
    const DTypeKind kind = buffer(out_).type.dtype.kind;
    plan::Coordinates in_a = at, in_b = at;
    double sum = 0;
    ScalarValue whole = is_integer(kind) ? interp::identity(Fold::sum, kind) : ScalarValue{};
    if (launch_.ta) in_a.back() = at[at.size() - 2];
    if (launch_.tb) in_b[in_b.size() - 2] = at.back();
    std::int64_t& k_of_a = launch_.ta ? in_a[in_a.size() - 2] : in_a.back();
    std::int64_t& k_of_b = launch_.tb ? in_b.back() : in_b[in_b.size() - 2];
    const std::vector<std::int64_t>& sizes = piece(launch_.a).sizes();
    const std::int64_t depth = launch_.ta ? sizes[sizes.size() - 2] : sizes.back();
    for (std::int64_t k = 0; k < depth; ++k) {
      k_of_a = k_of_b = k;
      const std::int64_t a = plan::held_at(piece(launch_.a), in_a);
      const std::int64_t b = plan::held_at(piece(launch_.b), in_b);
      if (a < 0 || b < 0) continue;
      const ScalarValue factors[] = {read(launch_.a, a), read(launch_.b, b)};
      if (is_integer(kind)) {
        const ScalarValue wide[] = {interp::cast(factors[0], kind), interp::cast(factors[1], kind)};
        whole = interp::fold_step(Fold::sum, whole, interp::apply(PointwiseFn::mul, wide));
      } else {
        sum += interp::to_double(factors[0]) * interp::to_double(factors[1]);
      }
    }
    return is_integer(kind) ? whole : interp::cast(interp::scalar(sum), kind);
  }

 private:
  const plan::MatmulLaunch& launch_;
};

// In f64, rounded once.
class Conv2dTurn : public ResultsTurn {
 public:
  Conv2dTurn(const Context& context, const plan::Turn& turn, int rank,
             const plan::Conv2dLaunch& launch)
      : ResultsTurn(context, turn, rank, launch.out), launch_(launch) {}

 protected:
  ScalarValue result(std::int64_t, const plan::Coordinates& at) override {
    double sum = 0;
    plan::for_each_product(launch_.op, piece(launch_.x), piece(launch_.w), at,
                           [&](std::int64_t x, std::int64_t w) {
                             const double of_x = x < 0 ? 0 : interp::to_double(read(launch_.x, x));
                             sum += of_x * interp::to_double(read(launch_.w, w));
                           });
    return interp::cast(interp::scalar(sum), buffer(out_).type.dtype.kind);
  }

 private:
  const plan::Conv2dLaunch& launch_;
};

// 16 lanes over what is held of the reduced index, row-major.
class ReduceTurn : public ResultsTurn {
 public:
  ReduceTurn(const Context& context, const plan::Turn& turn, int rank,
             const plan::ReduceLaunch& launch)
      : ResultsTurn(context, turn, rank, launch.out), launch_(launch) {
    const Piece& in = piece(launch.in);
    for (std::int64_t i = 0; i < in.count(); ++i) {
      plan::Coordinates at = plan::coordinates_of(in.sizes(), in.global(i));
      for (int dim : launch.dims) at[dim] = 0;
      if (launch.dims.empty()) at.clear();
      reduced_[plan::held_at(piece_, at)].push_back(i);
    }
  }

 protected:
  ScalarValue result(std::int64_t index, const plan::Coordinates&) override {
    const Fold fold = fold_of(launch_.fn).value_or(Fold::sum);
    const DTypeKind kind = buffer(out_).type.dtype.kind;
    const DTypeKind wide = accumulator_of(kind);
    const std::vector<std::int64_t>& row = reduced_[index];
    const std::size_t block = launch_.dims.empty() ? kBlock : std::max<std::size_t>(1, row.size());
    ScalarValue total = fold_row(row, 0, std::min(block, row.size()), fold, wide);
    for (std::size_t begin = block; begin < row.size(); begin += block) {
      const std::size_t end = std::min(row.size(), begin + block);
      total = interp::fold_step(fold, total, fold_row(row, begin, end, fold, wide));
    }
    if (launch_.fn == ReduceFn::mean) {
      std::int64_t count = launch_.dims.empty() ? piece(launch_.in).global_count() : 1;
      for (int dim : launch_.dims) count *= piece(launch_.in).sizes()[dim];
      const ScalarValue quotient[] = {total, interp::cast(interp::scalar(count), wide)};
      total = interp::apply(PointwiseFn::div, quotient);
    }
    return interp::cast(total, kind);
  }

 private:
  ScalarValue fold_row(const std::vector<std::int64_t>& row, std::size_t begin, std::size_t end,
                       Fold fold, DTypeKind wide) const {
    std::array<ScalarValue, kLanes> lanes;
    lanes.fill(interp::identity(fold, wide));
    for (std::size_t i = begin; i < end; ++i) {
      ScalarValue& lane = lanes[(i - begin) % kLanes];
      lane = interp::fold_step(fold, lane, interp::cast(read(launch_.in, row[i]), wide));
    }
    ScalarValue total = lanes[0];
    for (int l = 1; l < kLanes; ++l) total = interp::fold_step(fold, total, lanes[l]);
    return total;
  }

  const plan::ReduceLaunch& launch_;
  std::map<std::int64_t, std::vector<std::int64_t>> reduced_;  // by result, ascending
};

class MoveTurn : public ResultsTurn {
 public:
  MoveTurn(const Context& context, const plan::Turn& turn, int rank, const plan::MoveLaunch& launch)
      : ResultsTurn(context, turn, rank, launch.out), launch_(launch) {}

 protected:
  ScalarValue result(std::int64_t, const plan::Coordinates& at) override {
    plan::Coordinates from = at;
    std::size_t part = 0;
    if (launch_.dim) {
      const int dim = *launch_.dim;
      while (launch_.in.size() > 1 && from[dim] >= piece(launch_.in[part]).sizes()[dim]) {
        from[dim] -= piece(launch_.in[part++]).sizes()[dim];
      }
      from[dim] += launch_.start.bind(context_.bound.sizes);
    } else if (launch_.order.empty()) {
      const std::int64_t flat = plan::flat_at(piece(out_).sizes(), at);
      from = plan::coordinates_of(piece(launch_.in[0]).sizes(), flat);
    }
    for (std::size_t d = 0; d < launch_.order.size(); ++d) from[launch_.order[d]] = at[d];
    return read(launch_.in[part], plan::held_at(piece(launch_.in[part]), from));
  }

 private:
  const plan::MoveLaunch& launch_;
};

}  // namespace

std::unique_ptr<TurnWork> move_turn(const Context& context, const plan::Turn& turn, int rank,
                                    const plan::MoveLaunch& launch) {
  return std::make_unique<MoveTurn>(context, turn, rank, launch);
}

std::unique_ptr<TurnWork> matmul_turn(const Context& context, const plan::Turn& turn, int rank,
                                      const plan::MatmulLaunch& launch) {
  return std::make_unique<MatmulTurn>(context, turn, rank, launch);
}

std::unique_ptr<TurnWork> conv2d_turn(const Context& context, const plan::Turn& turn, int rank,
                                      const plan::Conv2dLaunch& launch) {
  return std::make_unique<Conv2dTurn>(context, turn, rank, launch);
}

std::unique_ptr<TurnWork> reduce_turn(const Context& context, const plan::Turn& turn, int rank,
                                      const plan::ReduceLaunch& launch) {
  return std::make_unique<ReduceTurn>(context, turn, rank, launch);
}

}  // namespace coconet::simulate
