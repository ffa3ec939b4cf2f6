#include "coconet/program/signature.h"

#include <algorithm>
#include <array>

#include "coconet/base/error.h"

namespace coconet {
namespace {

using P = FunctionParameter;
using Attributes = std::span<const Attribute>;

constexpr std::array kX = {P{"x"}};
constexpr std::array kXY = {P{"x"}, P{"y"}};
constexpr std::array kWhere = {P{"condition"}, P{"x"}, P{"y"}};
constexpr std::array kSize = {P{"extent", Role::extent}};
constexpr std::array kCast = {P{"x"}, P{"dtype", Role::dtype}};
constexpr std::array kDropout = {P{"x"}, P{"p"}, P{"site", Role::integer, false, true}};
constexpr std::array kMatmul = {P{"a"}, P{"b"}, P{"ta", Role::flag, false, true},
                                P{"tb", Role::flag, false, true},
                                P{"out", Role::dtype, false, true}};
constexpr std::array kConv2d = {P{"x"}, P{"w"}, P{"stride", Role::integer, false, true},
                                P{"padding", Role::integer, false, true},
                                P{"size", Role::shape, false, true}};
constexpr std::array kReduction = {P{"x"}, P{"dims", Role::dims, false}};
constexpr std::array kNorm = {P{"x"}, P{"out", Role::dtype, false, true}};
constexpr std::array kLayerNorm = {P{"x"}, P{"gamma"}, P{"beta"}, P{"eps"}};
constexpr std::array kRmsNorm = {P{"x"}, P{"gamma"}, P{"eps"}};
constexpr std::array kTranspose = {P{"x"}, P{"order", Role::order}};
constexpr std::array kReshape = {P{"x"}, P{"shape", Role::shape}};
constexpr std::array kNarrow = {P{"x"}, P{"dim", Role::integer}, P{"start", Role::size},
                                P{"length", Role::size}};
constexpr std::array kConcat = {P{"x"}, P{"dim", Role::integer},
                                P{"size", Role::size, false, true}};
constexpr std::array kUpdate = {P{"storage"}, P{"value"}};
constexpr std::array kXFold = {P{"x"}, P{"fold", Role::fold}};
constexpr std::array kFold = {P{"x"}, P{"fold", Role::fold}, P{"mean", Role::flag, false, true}};
constexpr std::array kAcross = {P{"x"}, P{"fold", Role::fold}, P{"size", Role::shape, false, true}};
constexpr std::array kXFoldSlice = {P{"x"}, P{"fold", Role::fold}, P{"slice", Role::slice}};
constexpr std::array kXFoldRoot = {P{"x"}, P{"fold", Role::fold}, P{"root", Role::integer}};
constexpr std::array kXRootMaybe = {P{"x"}, P{"root", Role::integer, false}};
constexpr std::array kXRoot = {P{"x"}, P{"root", Role::integer}};
constexpr std::array kShift = {P{"x"}, P{"axis", Role::axis}, P{"by", Role::offset},
                               P{"wrap", Role::word, false}};
constexpr std::array kXTwoSlices = {P{"x"}, P{"from", Role::slice}, P{"to", Role::slice}};
constexpr std::array kXSlice = {P{"x"}, P{"slice", Role::slice}};

std::optional<DType> dtype_or_none(const Attribute& attribute) {
  const DType* dtype = std::get_if<DType>(&attribute);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

Fold fold_in(const Attribute& attribute) { return std::get<Fold>(attribute); }
int integer_in(const Attribute& attribute) {
  return static_cast<int>(std::get<std::int64_t>(attribute));
}

template <PointwiseFn fn>
Op pointwise(Attributes) {
  return Pointwise{fn};
}

template <ReduceFn fn>
Op reduction(Attributes a) {
  const std::vector<int>* dims = std::get_if<std::vector<int>>(&a[0]);
  return Reduce{fn, dims ? *dims : std::vector<int>{}};
}

Op make_softmax(Attributes a) {
  const std::vector<int>* dims = std::get_if<std::vector<int>>(&a[0]);
  return Softmax{dims ? *dims : std::vector<int>{}};
}

template <Fold fold, bool of_squares>
Op block_reduction(Attributes) {
  return BlockReduce{fold, of_squares};
}

// The dtype is that of the operand which the size will meet.
Op make_size(Attributes a) {
  if (const Dim* dim = std::get_if<Dim>(&a[0])) return DimSize{*dim, f32};
  return AxisSize{integer_in(a[0]), f32};
}
Op make_cast(Attributes a) { return Cast{std::get<DType>(a[0])}; }
// Without a site the program numbers it.
Op make_dropout(Attributes a) {
  const bool given = std::holds_alternative<std::int64_t>(a[0]);
  return Dropout{given ? integer_in(a[0]) : 0};
}
bool is_set(const Attribute& attribute) {
  const bool* flag = std::get_if<bool>(&attribute);
  return flag && *flag;
}
Op make_matmul(Attributes a) { return Matmul{dtype_or_none(a[2]), is_set(a[0]), is_set(a[1])}; }
Op make_conv2d(Attributes a) {
  Conv2d out;
  if (std::holds_alternative<std::int64_t>(a[0])) out.stride = integer_in(a[0]);
  if (std::holds_alternative<std::int64_t>(a[1])) out.padding = integer_in(a[1]);
  if (const Shape* size = std::get_if<Shape>(&a[2])) out.size = *size;
  return out;
}
Op make_norm(Attributes a) { return Norm{dtype_or_none(a[0])}; }
Op make_layer_norm(Attributes) { return LayerNorm{}; }
Op make_rms_norm(Attributes) { return RmsNorm{}; }
Op make_transpose(Attributes a) { return Transpose{std::get<std::vector<int>>(a[0])}; }
Op make_reshape(Attributes a) { return Reshape{std::get<Shape>(a[0])}; }
Op make_narrow(Attributes a) {
  return Narrow{integer_in(a[0]), std::get<Dim>(a[1]), std::get<Dim>(a[2])};
}
Op make_concat(Attributes a) {
  const Dim* size = std::get_if<Dim>(&a[1]);
  return Concat{integer_in(a[0]), size ? std::optional(*size) : std::nullopt};
}
Op make_fold(Attributes a) { return FoldBlocks{fold_in(a[0]), is_set(a[1])}; }
Op make_across(Attributes a) {
  const Shape* size = std::get_if<Shape>(&a[1]);
  return Across{fold_in(a[0]), size ? std::optional(*size) : std::nullopt};
}
Op make_update(Attributes) { return Update{}; }
Op make_all_reduce(Attributes a) { return AllReduce{fold_in(a[0]), {}}; }
Op make_reduce_scatter(Attributes a) {
  return ReduceScatter{fold_in(a[0]), std::get<Slice>(a[1]), {}};
}
Op make_all_gather(Attributes) { return AllGather{}; }
Op make_reduce(Attributes a) { return ReduceTo{fold_in(a[0]), integer_in(a[1]), {}}; }
Op make_broadcast(Attributes a) {
  const bool given = std::holds_alternative<std::int64_t>(a[0]);
  return Broadcast{given ? std::optional(integer_in(a[0])) : std::nullopt, {}};
}
Op make_shard(Attributes a) { return Shard{std::get<Slice>(a[0]), {}}; }
Op make_root(Attributes a) { return RootOf{integer_in(a[0]), {}}; }
Op make_as_partial(Attributes a) { return AsPartial{fold_in(a[0]), {}}; }

// The C++ form names the axis beside the arguments.
Op make_shift(Attributes a) {
  const bool wrap = std::holds_alternative<std::int64_t>(a[2]);
  if (std::holds_alternative<std::monostate>(a[0])) return Shift{integer_in(a[1]), wrap, {}};
  return Shift{integer_in(a[1]), wrap, {integer_in(a[0])}};
}
Op make_all_to_all(Attributes a) {
  return AllToAll{std::get<Slice>(a[0]), std::get<Slice>(a[1]), {}};
}
Op make_stack(Attributes) { return Stack{}; }

const auto& signatures() {
  using Fn = PointwiseFn;
  static const std::array kSignatures = {
      Signature{"abs", kX, false, pointwise<Fn::abs>},
      Signature{"sqrt", kX, false, pointwise<Fn::sqrt>},
      Signature{"rsqrt", kX, false, pointwise<Fn::rsqrt>},
      Signature{"exp", kX, false, pointwise<Fn::exp>},
      Signature{"log", kX, false, pointwise<Fn::log>},
      Signature{"tanh", kX, false, pointwise<Fn::tanh>},
      Signature{"erf", kX, false, pointwise<Fn::erf>},
      Signature{"relu", kX, false, pointwise<Fn::relu>},
      Signature{"gelu", kX, false, pointwise<Fn::gelu>},
      Signature{"silu", kX, false, pointwise<Fn::silu>},
      Signature{"sigmoid", kX, false, pointwise<Fn::sigmoid>},
      Signature{"pow", kXY, false, pointwise<Fn::pow>},
      Signature{"min", kXY, false, pointwise<Fn::min>},
      Signature{"max", kXY, false, pointwise<Fn::max>},
      Signature{"where", kWhere, false, pointwise<Fn::where>},
      Signature{"sum", kReduction, false, reduction<ReduceFn::sum>},
      Signature{"max", kReduction, false, reduction<ReduceFn::max>},
      Signature{"min", kReduction, false, reduction<ReduceFn::min>},
      Signature{"prod", kReduction, false, reduction<ReduceFn::prod>},
      Signature{"mean", kReduction, false, reduction<ReduceFn::mean>},
      Signature{"size", kSize, false, make_size},
      Signature{"cast", kCast, false, make_cast},
      Signature{"dropout", kDropout, false, make_dropout},
      Signature{"matmul", kMatmul, false, make_matmul},
      Signature{"conv2d", kConv2d, false, make_conv2d},
      Signature{"norm", kNorm, false, make_norm},
      Signature{"layer_norm", kLayerNorm, false, make_layer_norm},
      Signature{"rms_norm", kRmsNorm, false, make_rms_norm},
      Signature{"softmax", kReduction, false, make_softmax},
      Signature{"transpose", kTranspose, false, make_transpose},
      Signature{"reshape", kReshape, false, make_reshape},
      Signature{"narrow", kNarrow, false, make_narrow},
      Signature{"concat", kConcat, false, make_concat, true},
      Signature{"across", kAcross, false, make_across},
      Signature{"update", kUpdate, false, make_update},
      Signature{"all_reduce", kXFold, true, make_all_reduce},
      Signature{"reduce_scatter", kXFoldSlice, true, make_reduce_scatter},
      Signature{"all_gather", kX, true, make_all_gather},
      Signature{"reduce", kXFoldRoot, true, make_reduce},
      Signature{"broadcast", kXRootMaybe, true, make_broadcast},
      Signature{"shard", kXSlice, true, make_shard},
      Signature{"root", kXRoot, true, make_root},
      Signature{"as_partial", kXFold, true, make_as_partial},
      Signature{"all_to_all", kXTwoSlices, true, make_all_to_all},
      Signature{"stack", kX, true, make_stack},
      Signature{"shift", kShift, false, make_shift},
      Signature{"block_sums", kX, false, block_reduction<Fold::sum, false>},
      Signature{"block_max", kX, false, block_reduction<Fold::max, false>},
      Signature{"block_min", kX, false, block_reduction<Fold::min, false>},
      Signature{"block_prod", kX, false, block_reduction<Fold::prod, false>},
      Signature{"block_squares", kX, false, block_reduction<Fold::sum, true>},
      Signature{"fold", kFold, false, make_fold},
  };
  return kSignatures;
}

struct Absent {
  std::string_view name;
  std::string_view instead;
};

constexpr std::array kAbsent = {
    Absent{"conv1d", "conv2d is there"},
    Absent{"conv3d", "conv2d is there"},
    Absent{"convolution", "conv2d is there"},
};

}  // namespace

std::string Signature::text() const {
  std::string out = std::string(name) + "(";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const FunctionParameter& parameter = parameters[i];
    if (!parameter.required) out += "[";
    if (i > 0) out += ", ";
    if (parameter.by_keyword) out += std::string(parameter.name) + "=";
    out += parameter.name;
    if (i == 0 && repeats) out += ", ...";
    if (!parameter.required) out += "]";
  }
  return out + ")" + (takes_axes ? "[@axes]" : "");
}

const Signature* find_signature(std::string_view name, bool reduces) {
  const Signature* found = nullptr;
  for (const Signature& signature : signatures()) {
    if (signature.name == name && (!found || reduces)) found = &signature;
  }
  return found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> out;
  for (const Signature& signature : signatures()) out.emplace_back(signature.name);
  return out;
}

std::string unsupported_function(std::string_view name) {
  for (const Absent& absent : kAbsent) {
    if (absent.name == name) {
      return "`" + std::string(name) + "` is not supported in this version; " +
             std::string(absent.instead);
    }
  }
  return "";
}

}  // namespace coconet
