#include "tests/property/program_writer.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/expand.h"

namespace coconet::property {
namespace {

const std::vector<DType> kFloats = {f32, f32, f32, f16, f16, bf16, f64};

std::vector<Shape> shapes() {
  const Dim b = Dim::named("B"), s = Dim::named("S"), h = Dim::named("H"), n = Dim::named("N");
  return {{n}, {n}, {b, h}, {b, s, h}, {b, s, h}, {h}, {h, h}};
}

// A list of tensors of one dim. Not sliced by dims, which lists have not.
TensorType list_type(const DType& dtype, Layout layout) {
  const Shape member = {Dim::named("L_i")};
  for (int axis : layout.axes_that_are<Sliced>()) {
    if (!layout.slice(axis).flat) layout = layout.with(axis, Replicated{});
  }
  return list_of(dtype, member, layout);
}

}  // namespace

ProgramWriter::ProgramWriter(Random& random, Header header)
    : random_(random), builder_(std::move(header)), dtype_(random.pick(kFloats)) {
  program_.axes = builder_.mesh().size();
  const std::vector<DTypeParameter>& parameters = builder_.header().dtypes;
  if (!parameters.empty()) {
    dtype_ = DType(parameters[0].kind, parameters[0].name);
  } else if (random_.chance(10)) {
    dtype_ = random_.chance(50) ? i32 : i64;
  }
}

std::optional<int> ProgramWriter::add(Op op, std::vector<int> operands) {
  GraphBuilder before = builder_;
  std::vector<NodeId> inputs;
  for (int operand : operands) inputs.push_back(ids_[operand]);
  const bool leaf = operands.empty();
  std::string name = "v" + std::to_string(program_.statements.size());
  if (std::holds_alternative<Input>(op)) name = "x" + std::to_string(inputs_++);
  if (leaf && !std::holds_alternative<Input>(op)) name.clear();
  if (!leaf && random_.chance(unnamed_)) name.clear();
  try {
    ids_.push_back(add_visible(builder_, op, inputs, name));
  } catch (const UserError& error) {
    refusal_ = error.message();
    builder_ = std::move(before);
    return std::nullopt;
  }
  program_.statements.push_back({std::move(op), std::move(operands), std::move(name)});
  updated_.push_back(false);
  return static_cast<int>(program_.statements.size()) - 1;
}

int ProgramWriter::must_add(Op op, std::vector<int> operands) {
  const std::optional<int> added = add(std::move(op), std::move(operands));
  check(added.has_value(), "a pattern of the generator is legal: " + refusal_);
  return *added;
}

int ProgramWriter::input(const TensorType& type, InputKind kind) {
  if (const auto added = add(Input{kind, type, {}}, {})) return *added;
  TensorType whole = type;
  whole.layout = Layout(program_.axes);
  return must_add(Input{kind, whole, {}}, {});
}

int ProgramWriter::literal(double value, const DType& dtype) {
  if (dtype.kind == DTypeKind::boolean) return must_add(Constant{true, dtype}, {});
  if (is_integer(dtype.kind)) {
    return must_add(Constant{static_cast<std::int64_t>(value), dtype}, {});
  }
  return must_add(Constant{value, dtype}, {});
}

Layout ProgramWriter::random_layout(const Shape& shape) {
  Layout layout(program_.axes);
  const int rank = static_cast<int>(shape.size());
  std::vector<int> axes = {0};
  if (program_.axes == 2) axes = random_.chance(50) ? std::vector{0, 1} : std::vector{1, 0};
  for (int axis : axes) {
    Placement place = Replicated{};
    const int kind = random_.below(100);
    if (kind < 20) {
      place = Local{};
    } else if (kind < 32) {
      place = Partial{Fold::sum};
    } else if (kind < 50 && rank > 0) {
      place = Sliced{Slice::dim(random_.below(rank))};
    } else if (kind < 58 && rank > 0) {
      place = Sliced{Slice::all()};
    } else if (kind < 63 && rank > 2) {
      place = Sliced{Slice::range(0, 1)};
    }
    try {
      layout = layout.with(axis, place);
    } catch (const UserError&) {
    }
  }
  return layout;
}

TensorType ProgramWriter::random_type() {
  const Shape shape = random_.pick(shapes());
  const DType dtype = random_.chance(85) ? dtype_ : random_.pick(kFloats);
  if (random_.chance(12)) return list_type(dtype, random_layout({Dim::named("N")}));
  return {dtype, shape, random_layout(shape)};
}

int ProgramWriter::any() {
  const int count = static_cast<int>(program_.statements.size());
  for (int tries = 0; tries < 20; ++tries) {
    const int pick =
        random_.chance(60) ? count - 1 - random_.below(std::min(count, 3)) : random_.below(count);
    if (!std::holds_alternative<Constant>(program_.statements[pick].op)) return pick;
  }
  return 0;
}

int ProgramWriter::like(int x) {
  TensorType wanted = type(x);
  if (random_.chance(25)) return literal(1 + random_.below(3), wanted.dtype);
  if (random_.chance(15))
    return input({wanted.dtype, {}, Layout(program_.axes)}, InputKind::scalar);
  for (int tries = 0; tries < 6; ++tries) {
    const int other = any();
    if (type(other).dtype == wanted.dtype && random_.chance(80)) return other;
  }
  if (wanted.shape.empty() || wanted.shape.back().is_blocks()) return x;
  if (wanted.is_list()) {
    if (random_.chance(25)) wanted = list_of(wanted.dtype, {}, wanted.layout);
    if (random_.chance(60) || wanted.is_scalar_list()) wanted.layout = Layout(program_.axes);
    return input(wanted);
  }
  if (random_.chance(25)) wanted.shape = {wanted.shape.back()};
  if (random_.chance(60) || wanted.shape != type(x).shape) wanted.layout = Layout(program_.axes);
  if (wanted.shape == Shape{Dim(1)}) return x;
  return input(wanted);
}

void ProgramWriter::begin() {
  const int kind = random_.below(100);
  if (kind < 30) return row_parallel();
  if (kind < 55) return data_parallel();
  for (int i = 1 + random_.below(3); i > 0; --i) input(random_type());
}

void ProgramWriter::row_parallel() {
  if (!is_floating(dtype_.kind)) dtype_ = f32;
  const Dim h = Dim::named("H");
  const Shape shape =
      random_.chance(50) ? Shape{Dim::named("B"), h} : Shape{Dim::named("B"), Dim::named("S"), h};
  const int last = static_cast<int>(shape.size()) - 1;
  const Layout whole(program_.axes);
  const int x = input({dtype_, shape, whole.with(0, Sliced{Slice::dim(last)})});
  const int w = input({dtype_, {h, h}, whole.with(0, Sliced{Slice::dim(0)})});
  const int layer = must_add(Matmul{}, {x, w});
  int value = must_add(AllReduce{Fold::sum, {0}}, {layer});
  const auto next = [&](std::optional<int> added) { value = added.value_or(value); };
  if (random_.chance(70))
    next(add(Pointwise{PointwiseFn::add}, {value, input({dtype_, {h}, whole})}));
  if (random_.chance(50)) drop(value), value = static_cast<int>(ids_.size()) - 1;
  if (random_.chance(60)) {
    next(add(Pointwise{PointwiseFn::add}, {value, input({dtype_, shape, whole})}));
  }
  if (random_.chance(40)) normalise(value);
}

void ProgramWriter::data_parallel() {
  if (!is_floating(dtype_.kind)) dtype_ = f32;
  const Shape shape = random_.pick(shapes());
  const DType wide{accumulator_of(dtype_.kind)};
  Layout whole(program_.axes);
  if (program_.axes == 2 && random_.chance(40)) {  // tensor parallel on the other axis
    whole = whole.with(1, Sliced{Slice::dim(random_.below(static_cast<int>(shape.size())))});
  }
  const Placement place = random_.chance(70) ? Placement{Local{}} : Placement{Partial{Fold::sum}};
  const bool list = random_.chance(30);
  const auto type_of = [&](const DType& dtype, const Layout& layout) {
    return list ? list_type(dtype, layout) : TensorType{dtype, shape, layout};
  };
  int value = input(type_of(dtype_, whole.with(0, place)));
  if (dtype_ != wide) value = must_add(Cast{wide}, {value});
  value = must_add(AllReduce{Fold::sum, {0}}, {value});
  if (random_.chance(70)) {
    value = must_add(Pointwise{PointwiseFn::div}, {value, must_add(AxisSize{0, wide}, {})});
  }
  const int state = input(type_of(wide, whole), InputKind::state);
  unnamed_ = 85;  // inside one expression, as a person writes it
  int moment = must_add(Pointwise{PointwiseFn::mul}, {state, literal(0.5, wide)});
  moment = must_add(Pointwise{PointwiseFn::add}, {moment, value});
  unnamed_ = 0;
  moment = must_add(Update{}, {state, moment});
  updated_[state] = true;
  if (random_.chance(60)) {
    const int p = input(type_of(wide, whole));
    unnamed_ = 50;
    int step = must_add(Pointwise{PointwiseFn::mul}, {moment, literal(0.125, wide)});
    if (random_.chance(40)) {
      int norm = must_add(Norm{}, {step});
      if (list && random_.chance(50)) norm = must_add(Across{Fold::sum}, {norm});
      step = add(Pointwise{PointwiseFn::div}, {step, norm}).value_or(step);
    }
    step = must_add(Pointwise{PointwiseFn::sub}, {p, step});
    unnamed_ = 0;
    must_add(Update{}, {p, step});
    updated_[p] = true;
  }
  unnamed_ = 20;
}

Program ProgramWriter::write(int operations) {
  begin();
  for (int done = 0, tries = 0; done < operations && tries < 60; ++tries) {
    if (operation()) ++done;
  }
  choose_outputs();
  return program_;
}

// What nobody reads is returned, or it would not be there; some others too.
void ProgramWriter::choose_outputs() {
  const int count = static_cast<int>(program_.statements.size());
  std::vector<bool> read(count, false);
  for (const Statement& statement : program_.statements) {
    for (int operand : statement.operands) read[operand] = true;
  }
  for (int i = 0; i < count; ++i) {
    const Op& op = program_.statements[i].op;
    if (std::holds_alternative<Constant>(op)) continue;
    const bool input = std::holds_alternative<Input>(op);
    const bool update = std::holds_alternative<Update>(op);
    const bool wanted = input    ? random_.chance(3)
                        : update ? random_.chance(40)
                                 : random_.chance(10);
    if (wanted || (!read[i] && !input && !update)) program_.outputs.push_back(i);
  }
  if (program_.outputs.empty()) program_.outputs.push_back(count - 1);
}

}  // namespace coconet::property
