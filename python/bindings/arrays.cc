#include "python/bindings/arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <optional>

namespace nb = nanobind;

namespace coconet::python {
namespace {

// DLPack's codes.
constexpr std::uint8_t kInt = 0, kFloat = 2, kBfloat = 4, kBool = 6;

nb::dlpack::dtype dlpack_of(DTypeKind kind) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(kind));
  switch (kind) {
    case DTypeKind::f16:
    case DTypeKind::f32:
    case DTypeKind::f64: return {kFloat, bits, 1};
    case DTypeKind::bf16: return {kBfloat, bits, 1};
    case DTypeKind::i32:
    case DTypeKind::i64: return {kInt, bits, 1};
    case DTypeKind::boolean: return {kBool, bits, 1};
  }
  check(false, "every dtype has a DLPack code");
  return {};
}

std::optional<DTypeKind> kind_of(const nb::dlpack::dtype& dtype) {
  for (const std::string& name : dtype_names()) {
    const DTypeKind kind = *dtype_kind_of(name);
    if (dlpack_of(kind) == dtype) return kind;
  }
  return std::nullopt;
}

std::string text_of(const nb::dlpack::dtype& dtype) {
  const std::optional<DTypeKind> kind = kind_of(dtype);
  if (kind) return std::string(name_of(*kind));
  const char* const codes[] = {"i", "u", "f", "opaque ", "bf", "complex ", "bool "};
  const std::string code = dtype.code < std::size(codes) ? codes[dtype.code] : "code ";
  return code + std::to_string(dtype.bits);
}

std::string type_text(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

[[noreturn]] void refuse(const std::string& what, const std::string& found,
                         const std::string& needed) {
  throw UserError(ErrorKind::data, what + ": found " + found + "; needed is " + needed);
}

using Array = nb::ndarray<nb::ro>;

Array array_in(const std::string& what, nb::handle object) {
  Array out;
  if (nb::ndarray_check(object) && nb::try_cast(object, out, false)) {
    if (out.device_type() == nb::device::cpu::value) return out;
    refuse(what, "an array on another device", "one in this machine's memory");
  }
  if (nb::ndarray_check(object)) {
    refuse(
        what, "a " + type_text(object) + " that gives no DLPack of its memory",
        "one that does, in this machine's memory and byte order; of a torch tensor that requires "
        "gradients: detach()");
  }
  refuse(what, "a " + type_text(object), "an array: numpy's, a torch tensor, what DLPack has");
}

bool contiguous(const Array& array) {
  std::int64_t step = 1;
  for (std::size_t d = array.ndim(); d-- > 0;) {
    const auto size = static_cast<std::int64_t>(array.shape(d));
    if (size != 1 && array.stride(d) != step) return array.size() == 0;
    step *= size;
  }
  return true;
}

std::vector<std::int64_t> shape_of(const Array& array) {
  std::vector<std::int64_t> out;
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    out.push_back(static_cast<std::int64_t>(array.shape(d)));
  }
  return out;
}

// Elements in row-major order from memory of any strides.
void copy_elements(const Array& array, std::size_t dim, const std::byte* from, std::size_t bytes,
                   std::byte*& to) {
  if (dim == array.ndim()) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  const std::int64_t step = array.stride(dim) * static_cast<std::int64_t>(bytes);
  for (std::size_t i = 0; i < array.shape(dim); ++i) {
    copy_elements(array, dim + 1, from + static_cast<std::int64_t>(i) * step, bytes, to);
  }
}

TensorData number_of(const std::string& what, nb::handle number, DTypeKind wanted) {
  TensorData out = TensorData::zeros(wanted, {});
  std::int64_t whole = 0;
  double value = 0;
  const bool is_int = nb::isinstance<nb::int_>(number);
  if (is_int && !is_floating(wanted) && nb::try_cast(number, whole)) {
    out.set_integer(0, whole);
  } else if (nb::try_cast(number, value)) {
    out.set_value(0, value);
  } else {
    PyErr_Clear();
    refuse(what, "a number beyond all that a dtype holds",
           "one that " + std::string(name_of(wanted)) + " has");
  }
  return out;
}

}  // namespace

TensorData tensor_of(const std::string& what, nb::handle object, DTypeKind wanted) {
  const bool number = nb::isinstance<nb::int_>(object) || nb::isinstance<nb::float_>(object);
  if (number) return number_of(what, object, wanted);
  const Array array = array_in(what, object);
  const std::optional<DTypeKind> kind = kind_of(array.dtype());
  if (!kind) {
    refuse(what, "elements of " + text_of(array.dtype()),
           "one of f16, bf16, f32, f64, i32, i64, bool");
  }
  TensorData out = TensorData::zeros(*kind, shape_of(array));
  const auto* from = static_cast<const std::byte*>(array.data());
  if (contiguous(array)) {
    if (!out.bytes.empty()) std::memcpy(out.bytes.data(), from, out.bytes.size());
  } else {
    std::byte* to = out.bytes.data();
    copy_elements(array, 0, from, static_cast<std::size_t>(size_of(*kind)), to);
  }
  return out;
}

std::span<std::byte> memory_of(const std::string& what, nb::handle object, DTypeKind dtype,
                               const std::vector<std::int64_t>& shape) {
  const Array array = array_in(what, object);
  nb::ndarray<> writable;
  if (!nb::try_cast(object, writable, false)) {
    refuse(what, "an array that must not be written", "one that may be");
  }
  if (array.dtype() != dlpack_of(dtype)) {
    refuse(what, "elements of " + text_of(array.dtype()), std::string(name_of(dtype)));
  }
  const bool empty = array.size() == 0 && shape == std::vector<std::int64_t>{0};
  if (shape_of(array) != shape && !empty) {
    refuse(what, "the shape " + text_of_shape(shape_of(array)),
           text_of_shape(shape) + ", this rank's piece");
  }
  if (!contiguous(array)) {
    refuse(what, "an array with gaps or in another order", "a contiguous one");
  }
  const std::size_t bytes = array.size() * static_cast<std::size_t>(size_of(dtype));
  return {static_cast<std::byte*>(writable.data()), bytes};
}

nb::object array_over(std::span<std::byte> memory, DTypeKind dtype,
                      const std::vector<std::int64_t>& shape, nb::handle owner) {
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  static std::byte nothing;
  void* data = memory.empty() ? &nothing : memory.data();
  if (dtype == DTypeKind::bf16) {
    return nb::cast(
        nb::ndarray<>(data, sizes.size(), sizes.data(), owner, nullptr, dlpack_of(dtype)));
  }
  return nb::cast(
      nb::ndarray<nb::numpy>(data, sizes.size(), sizes.data(), owner, nullptr, dlpack_of(dtype)));
}

nb::object array_of(TensorData tensor) {
  auto kept = std::make_unique<TensorData>(std::move(tensor));
  TensorData& data = *kept;
  const nb::capsule owner(kept.release(),
                          [](void* memory) noexcept { delete static_cast<TensorData*>(memory); });
  return array_over(data.bytes, data.dtype, data.shape, owner);
}

}  // namespace coconet::python
