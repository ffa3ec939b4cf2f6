#include "tests/unit/interp/sample.h"

#include "coconet/graph/expand.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/interp/scalar.h"

namespace coconet::interp {

Bytes bytes_from(DTypeKind kind, const std::vector<double>& values) {
  Bytes out(values.size() * size_of(kind));
  for (std::size_t i = 0; i < values.size(); ++i) {
    store(cast(scalar(values[i]), kind), out.data(), static_cast<std::int64_t>(i));
  }
  return out;
}

std::vector<double> numbers(DTypeKind kind, const Bytes& bytes) {
  std::vector<double> out(bytes.size() / size_of(kind));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = to_double(load(kind, bytes.data(), static_cast<std::int64_t>(i)));
  }
  return out;
}

std::vector<double> ramp(std::int64_t count, double step, double first) {
  std::vector<double> out(count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = first + step * static_cast<double>(i);
  return out;
}

std::vector<double> noise(std::int64_t count, int seed) {
  std::vector<double> out(count);
  std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(seed + 1);
  for (double& value : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 40) / (1 << 23) - 1;
  }
  return out;
}

namespace {

Header header_of(std::size_t axes, const Sizes& dims) {
  Header header;
  header.program = "sample";
  header.mesh.name = "world";
  for (std::size_t i = 0; i < axes; ++i) {
    header.mesh.axes.push_back(std::string(1, static_cast<char>('a' + i)));
  }
  for (const auto& [name, size] : dims) header.dims.push_back(name);
  return header;
}

}  // namespace

Sample::Sample(std::vector<int> mesh, Sizes dims) : builder_(header_of(mesh.size(), dims)) {
  setting.mesh.sizes = std::move(mesh);
  setting.sizes = with_axes(std::move(dims), builder_.mesh(), setting.mesh);
}

NodeId Sample::input(const std::string& name, const TensorType& type,
                     const std::vector<double>& values, InputKind kind) {
  inputs_[name] = scatter_global(type, setting, bytes_from(type.dtype.kind, values));
  return builder_.add(Input{kind, type, {}}, {}, name);
}

NodeId Sample::add(Op op, std::vector<NodeId> inputs, const std::string& name) {
  return builder_.add(std::move(op), std::move(inputs), name);
}

NodeId Sample::add_visible(Op op, std::vector<NodeId> inputs, const std::string& name) {
  return coconet::add_visible(builder_, std::move(op), std::move(inputs), name);
}

NodeId Sample::pointwise(PointwiseFn fn, std::vector<NodeId> inputs, const std::string& name) {
  return add(Pointwise{fn}, std::move(inputs), name);
}

NodeId Sample::literal(double value, DType dtype) { return add(Constant{value, dtype}, {}); }

Graph Sample::graph() const {
  GraphBuilder builder = builder_;
  return std::move(builder).finish();
}

Result Sample::run() const { return interp::run(graph(), inputs_, setting); }

std::vector<double> Sample::value_of(const std::string& output) const {
  const Graph built = graph();
  const Result result = interp::run(built, inputs_, setting);
  for (const Output& each : built.outputs()) {
    if (each.name != output) continue;
    const TensorType& type = built.node(each.node).type;
    const GlobalValue value = global_value(type, setting, result.outputs.at(output));
    return numbers(value.kind, value.bytes);
  }
  return {};
}

Layout sliced(int d, int axis, int axes) { return Layout(axes).with(axis, Sliced{Slice::dim(d)}); }
Layout flat(int axis, int axes) { return Layout(axes).with(axis, Sliced{Slice::all()}); }
Layout partial(Fold fold, int axis, int axes) { return Layout(axes).with(axis, Partial{fold}); }
Layout local(int axis, int axes) { return Layout(axes).with(axis, Local{}); }

}  // namespace coconet::interp
