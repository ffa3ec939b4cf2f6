// The operations that random programs are made of.
#include "coconet/base/error.h"
#include "tests/property/program_writer.h"

namespace coconet::property {

bool ProgramWriter::operation() {
  const int x = any();
  const int kind = random_.below(100);
  if (kind < 14) return pointwise();
  if (kind < 40) return binary(x);
  if (kind < 44) return choice(x);
  if (kind < 49) return drop(x);
  if (kind < 54) return product(x);
  if (kind < 56) return convolution(x);
  if (kind < 64) return reduction(x);
  if (kind < 71) return normalise(x);
  if (kind < 77) return movement(x);
  if (kind < 88) return collective(x);
  if (kind < 94) return placing(x);
  return store(x);
}

bool ProgramWriter::pointwise() {
  static const std::vector<PointwiseFn> kFns = {
      PointwiseFn::neg,  PointwiseFn::abs,  PointwiseFn::sqrt, PointwiseFn::rsqrt,
      PointwiseFn::exp,  PointwiseFn::log,  PointwiseFn::tanh, PointwiseFn::erf,
      PointwiseFn::relu, PointwiseFn::gelu, PointwiseFn::silu, PointwiseFn::sigmoid};
  static const std::vector<DType> kTo = {f16, bf16, f32, f32, f64, i32, i64};
  const int x = any();
  if (random_.chance(40)) return add(Cast{random_.pick(kTo)}, {x}).has_value();
  return add(Pointwise{random_.pick(kFns)}, {x}).has_value();
}

bool ProgramWriter::binary(int x) {
  static const std::vector<PointwiseFn> kFns = {
      PointwiseFn::add, PointwiseFn::add, PointwiseFn::sub, PointwiseFn::mul,
      PointwiseFn::mul, PointwiseFn::div, PointwiseFn::min, PointwiseFn::max};
  if (random_.chance(6)) {
    const DType i = random_.chance(50) ? i32 : type(x).dtype;
    return add(Pointwise{PointwiseFn::pow}, {x, literal(random_.below(4), i)}).has_value();
  }
  const int y = like(x);
  const bool swap = random_.chance(30);
  return add(Pointwise{random_.pick(kFns)}, {swap ? y : x, swap ? x : y}).has_value();
}

bool ProgramWriter::choice(int x) {
  static const std::vector<PointwiseFn> kFns = {PointwiseFn::lt, PointwiseFn::le, PointwiseFn::gt,
                                                PointwiseFn::ge, PointwiseFn::eq, PointwiseFn::ne};
  const int y = like(x);
  const auto condition = add(Pointwise{random_.pick(kFns)}, {x, y});
  return condition && add(Pointwise{PointwiseFn::where}, {*condition, x, y}).has_value();
}

bool ProgramWriter::drop(int x) {
  static const std::vector<double> kRates = {0, 0.1, 0.5, 0.5, 1};
  const int rate = literal(random_.pick(kRates), f32);
  const auto added = add(Dropout{sites_}, {x, rate});
  if (added) ++sites_;
  return added.has_value();
}

bool ProgramWriter::product(int x) {
  const TensorType of = type(x);
  if (of.shape.size() < 2 || of.shape.back().is_one()) return false;
  Matmul op{{}, random_.chance(20), random_.chance(25)};
  if (random_.chance(15)) op.out = f32;
  const int last = of.rank() - 1, inner = op.ta ? last - 1 : last;
  TensorType weight{of.dtype, {of.shape[inner], Dim::named("H")}, Layout(program_.axes)};
  if (weight.shape[0].is_one()) return false;
  if (op.tb) std::swap(weight.shape[0], weight.shape[1]);
  for (int axis = 0; axis < program_.axes; ++axis) {
    const bool cut_k = of.layout.is<Sliced>(axis) && of.layout.slice(axis) == Slice::dim(inner);
    if (cut_k ? random_.chance(75) : random_.chance(10)) {
      weight.layout = weight.layout.with(axis, Sliced{Slice::dim(op.tb ? 1 : 0)});
    } else if (random_.chance(20)) {
      weight.layout = weight.layout.with(axis, Sliced{Slice::dim(op.tb ? 0 : 1)});
    }
  }
  return add(op, {x, input(weight)}).has_value();
}

// Of four dims, the first or last of which may be new and 1; the result has x's sizes but for its
// channels.
bool ProgramWriter::convolution(int x) {
  Reshape images{type(x).shape};
  while (images.shape.size() < 4) {
    images.shape.insert(random_.chance(50) ? images.shape.begin() : images.shape.end(), Dim(1));
  }
  if (images.shape.size() > 4 || type(x).is_list()) return false;
  if (type(x).rank() < 4) {
    const auto reshaped = add(images, {x});
    if (!reshaped) return false;
    x = *reshaped;
  }
  const TensorType of = type(x);
  const int window = random_.chance(50) ? 3 : 1;
  TensorType weight{of.dtype,
                    {Dim(random_.chance(70) ? 2 : 3), of.shape[1], window, window},
                    Layout(program_.axes)};
  for (int axis = 0; axis < program_.axes; ++axis) {
    const bool channels = of.layout.is<Sliced>(axis) && of.layout.slice(axis) == Slice::dim(1);
    if (channels || random_.chance(20)) {
      weight.layout = weight.layout.with(axis, Sliced{Slice::dim(channels ? 1 : 0)});
    }
  }
  return add(Conv2d{1, window / 2, {}}, {x, input(weight)}).has_value();
}

bool ProgramWriter::reduction(int x) {
  static const std::vector<ReduceFn> kFns = {ReduceFn::sum, ReduceFn::sum,  ReduceFn::max,
                                             ReduceFn::min, ReduceFn::mean, ReduceFn::prod};
  const int rank = type(x).rank();
  if (rank == 0) return false;
  const bool scalars = type(x).is_scalar_list();
  if (scalars || (type(x).is_list() && random_.chance(50))) {
    static const std::vector<Fold> kFolds = {Fold::sum, Fold::max, Fold::min, Fold::prod};
    Across op{random_.pick(kFolds)};
    if (!scalars) op.size = {Dim::named("N")};
    const auto folded = add(op, {x});
    if (folded && random_.chance(60)) {
      add(Pointwise{PointwiseFn::sub}, {scalars ? x : like(*folded), *folded});
    }
    return folded.has_value();
  }
  Reduce op{random_.pick(kFns), {}};
  if (random_.chance(70) && !type(x).is_list()) {
    op.dims = {random_.chance(60) ? rank - 1 : random_.below(rank)};
    if (op.dims[0] > 0 && random_.chance(15)) op.dims = {op.dims[0] - 1, op.dims[0]};
  }
  const auto added = add(op, {x});
  if (added && random_.chance(60)) add(Pointwise{PointwiseFn::sub}, {x, *added});
  return added.has_value();
}

bool ProgramWriter::normalise(int x) {
  const TensorType of = type(x);
  if (of.shape.empty() || !is_floating(of.dtype.kind) || of.shape.back().is_one()) return false;
  if (of.shape.back().is_blocks()) return false;
  if (random_.chance(40) || of.is_list()) {
    const auto norm = add(Norm{}, {x});
    if (norm && random_.chance(60)) add(Pointwise{PointwiseFn::div}, {x, *norm});
    return norm.has_value();
  }
  if (random_.chance(30)) {
    std::vector<int> dims;
    if (random_.chance(30)) dims = {random_.below(of.rank())};
    return add(Softmax{dims}, {x}).has_value();
  }
  const TensorType weight{of.dtype, {of.shape.back()}, Layout(program_.axes)};
  const int eps = literal(1e-3, DType{accumulator_of(of.dtype.kind)});
  const int gamma = input(weight);
  if (random_.chance(30)) return add(RmsNorm{}, {x, gamma, eps}).has_value();
  const int beta = input(weight);
  return add(LayerNorm{}, {x, gamma, beta, eps}).has_value();
}

bool ProgramWriter::movement(int x) {
  const TensorType of = type(x);
  const int rank = of.rank();
  if (rank == 0 || of.shape.back().is_blocks()) return false;
  const int dim = random_.below(rank);
  const int kind = random_.below(100);
  if (kind < 30) {
    Transpose op;
    for (int d = 0; d < rank; ++d) op.order.insert(op.order.begin() + random_.below(d + 1), d);
    return add(op, {x}).has_value();
  }
  if (kind < 60) {  // a merge, the parting of a product, or a new dim of 1
    Reshape op{of.shape};
    const auto at = op.shape.begin() + dim;
    const std::vector<std::string>& names = of.shape[dim].names();
    if (names.size() > 1) {
      *at = Dim::named(names[0]);
      Dim rest(of.shape[dim].coefficient());
      for (std::size_t i = 1; i < names.size(); ++i) rest = rest * Dim::named(names[i]);
      op.shape.insert(at + 1, rest);
    } else if (dim + 1 < rank && random_.chance(80)) {
      *at = *at * *(at + 1);
      op.shape.erase(at + 1);
    } else if (rank < 4) {
      op.shape.insert(at, Dim(1));
    }
    return add(op, {x}).has_value();
  }
  const Dim& whole = of.shape[dim];
  if (kind < 80) {
    const bool part = whole.coefficient() > 1 && !whole.names().empty();
    Dim piece(1);
    for (const std::string& name : whole.names()) piece = piece * Dim::named(name);
    if (part) return add(Narrow{dim, piece, piece}, {x}).has_value();
    return add(Narrow{dim, Dim(0), whole}, {x}).has_value();
  }
  if (whole.coefficient() > 2) return false;  // keep it small
  const int y = random_.chance(50) ? x : like(x);
  return add(Concat{dim, {}}, {x, y}).has_value();
}

bool ProgramWriter::collective(int x) {
  const int axis = random_.below(program_.axes);
  const Layout& layout = type(x).layout;
  AxisList axes = {axis};
  if (program_.axes == 2 && layout.at(0) == layout.at(1) && random_.chance(50)) axes = {0, 1};
  const bool whole = layout.is<Local>(axis) || layout.is<Replicated>(axis);
  if (whole && random_.chance(20)) {
    return add(Shift{random_.below(5) - 2, random_.chance(30), {axis}}, {x}).has_value();
  }
  if (layout.is<Local>(axis) && random_.chance(10)) return add(Stack{{axis}}, {x}).has_value();
  if (layout.is<Sliced>(axis) && random_.chance(40)) {
    const int rank = type(x).rank();
    Slice to = random_.chance(30) ? Slice::all() : Slice::dim(random_.below(rank));
    if (rank > 2 && random_.chance(30)) to = Slice::range(0, 1);
    return add(AllToAll{layout.slice(axis), to, axes}, {x}).has_value();
  }
  if (layout.is<Sliced>(axis)) return add(AllGather{axes}, {x}).has_value();
  if (layout.is<Rooted>(axis)) return add(Broadcast{{}, axes}, {x}).has_value();
  Fold fold = Fold::sum;
  if (layout.is<Local>(axis) && random_.chance(25)) {
    fold = random_.chance(50) ? Fold::max : Fold::min;
  }
  const int rank = type(x).rank();
  if (random_.chance(25) && rank > 0) {
    Slice slice =
        random_.chance(40) || type(x).is_list() ? Slice::all() : Slice::dim(random_.below(rank));
    if (rank > 2 && random_.chance(40)) slice = Slice::range(0, 1);
    return add(ReduceScatter{fold, slice, axes}, {x}).has_value();
  }
  if (random_.chance(15)) return add(ReduceTo{fold, 0, axes}, {x}).has_value();
  if (layout.is<Local>(axis) && random_.chance(10)) {
    return add(Broadcast{0, axes}, {x}).has_value();
  }
  return add(AllReduce{fold, axes}, {x}).has_value();
}

bool ProgramWriter::placing(int x) {
  const AxisList axes = {random_.below(program_.axes)};
  const int rank = type(x).rank();
  const int kind = random_.below(100);
  if (kind < 25) return add(RootOf{0, axes}, {x}).has_value();
  if (kind < 45) return add(AsPartial{Fold::sum, axes}, {x}).has_value();
  if (rank == 0) return false;
  const bool flat = random_.chance(40) || type(x).is_list();
  const Slice slice = flat ? Slice::all() : Slice::dim(random_.below(rank));
  return add(Shard{slice, axes}, {x}).has_value();
}

bool ProgramWriter::store(int x) {
  const TensorType of = type(x);
  for (int i = 0; i < static_cast<int>(program_.statements.size()); ++i) {
    const Input* input = std::get_if<Input>(&program_.statements[i].op);
    if (!input || input->kind == InputKind::scalar || updated_[i] || i == x) continue;
    if (!(type(i) == of) || random_.chance(50)) continue;
    const auto added = add(Update{}, {i, x});
    if (!added) return false;
    updated_[i] = true;
    return true;
  }
  if (of.is_scalar() || of.shape.back().is_blocks() || of.dtype.kind == DTypeKind::boolean) {
    return false;
  }
  const int state = input(of, random_.chance(70) ? InputKind::state : InputKind::tensor);
  updated_[state] = true;
  return add(Update{}, {state, x}).has_value();
}

}  // namespace coconet::property
