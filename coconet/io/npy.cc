#include "coconet/io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "coconet/base/error.h"
#include "coconet/io/bool_bytes.h"
#include "coconet/io/npy_header.h"
#include "coconet/io/write_file.h"

namespace coconet {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kKnownDtypes = "f2, f4, f8, i4, i8 and b1 are read";

UserError bad(const std::string& file, const std::string& text) {
  return UserError(ErrorKind::data, fmt::format("{}: {}", file, text));
}

struct Element {
  DTypeKind dtype;
  bool big_endian;
};

std::optional<std::string_view> descr_of(DTypeKind dtype) {
  switch (dtype) {
    case DTypeKind::f16: return "<f2";
    case DTypeKind::f32: return "<f4";
    case DTypeKind::f64: return "<f8";
    case DTypeKind::i32: return "<i4";
    case DTypeKind::i64: return "<i8";
    case DTypeKind::boolean: return "|b1";
    case DTypeKind::bf16: return std::nullopt;
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

Element element_of(const std::string& descr, const std::string& file) {
  for (const DTypeKind dtype : {DTypeKind::f16, DTypeKind::f32, DTypeKind::f64, DTypeKind::i32,
                                DTypeKind::i64, DTypeKind::boolean}) {
    const std::string_view known = *descr_of(dtype);
    if (descr == known) return {dtype, false};
    if (known[0] == '<' && descr == fmt::format(">{}", known.substr(1))) return {dtype, true};
  }
  const bool maybe_bf16 = descr == "<V2" || descr == "|V2" || descr == "bfloat16";
  throw bad(file,
            fmt::format("holds the dtype {:?}; {}{}", descr, kKnownDtypes,
                        maybe_bf16 ? " (bf16 has no .npy form: use a .safetensors file)" : ""));
}

struct Prefix {
  NpyHeader header;
  std::uint64_t data_begin;
};

Prefix read_prefix(const ByteSource& source) {
  const std::string& file = source.name();
  const std::string start = source.read_text(0, std::min<std::uint64_t>(source.size(), 12));
  if (std::string_view(start).substr(0, kMagic.size()) != kMagic) {
    throw bad(file, fmt::format("begins with {:?} ({} bytes in all); a .npy file begins with "
                                "\"\\x93NUMPY\"",
                                start.substr(0, kMagic.size()), source.size()));
  }
  if (start.size() < 10) {
    throw bad(file, fmt::format("ends at byte {}; the fixed part of a .npy header has 10 bytes",
                                source.size()));
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(start[i]));
  };
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0) {
    throw bad(file, fmt::format("has the .npy format version {}.{}; 1.0, 2.0 and 3.0 are read",
                                byte(6), byte(7)));
  }
  const std::uint64_t header_begin = byte(6) == 1 ? 10 : 12;
  if (start.size() < header_begin) {
    throw bad(file, fmt::format("ends at byte {}; the fixed part of a .npy header of version {}.0 "
                                "has 12 bytes",
                                source.size(), byte(6)));
  }
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (header_begin == 12) length |= byte(10) << 16 | byte(11) << 24;
  if (length > source.size() - header_begin) {
    throw bad(file, fmt::format("ends at byte {}, inside its header, which takes bytes {} to {}",
                                source.size(), header_begin, header_begin + length));
  }
  const std::string text = source.read_text(header_begin, length);
  return {parse_npy_header(text, file, header_begin), header_begin + length};
}

void swap_byte_order(std::vector<std::byte>& bytes, std::size_t size) {
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
}

// `columns` holds the elements with the first dim fastest; the result with the last dim fastest.
std::vector<std::byte> row_major(const std::vector<std::byte>& columns,
                                 const std::vector<std::int64_t>& shape, std::size_t size) {
  std::vector<std::byte> rows(columns.size());
  std::vector<std::size_t> stride(shape.size());
  std::size_t step = size;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<std::size_t>(shape[d]);
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < rows.size(); to += size) {
    std::memcpy(rows.data() + to, columns.data() + from, size);
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return rows;
}

}  // namespace

TensorData read_npy(const ByteSource& source) {
  const std::string& file = source.name();
  Prefix prefix = read_prefix(source);
  const Element element = element_of(prefix.header.descr, file);
  const std::vector<std::int64_t>& shape = prefix.header.shape;
  const std::string type = fmt::format("{}{}", name_of(element.dtype), text_of_shape(shape));
  const std::optional<std::int64_t> bytes = byte_count(element.dtype, shape);
  if (!bytes) throw bad(file, fmt::format("{} has more than 2^63 - 1 bytes", type));
  const std::uint64_t found = source.size() - prefix.data_begin;
  if (found != static_cast<std::uint64_t>(*bytes)) {
    throw bad(file,
              fmt::format("holds {} bytes of elements, from byte {} to its end at {}; {} "
                          "needs {} ({})",
                          found, prefix.data_begin, source.size(), type, *bytes,
                          found < static_cast<std::uint64_t>(*bytes) ? "it is truncated"
                                                                     : "there are extra bytes"));
  }
  TensorData tensor{element.dtype, shape, std::vector<std::byte>(static_cast<std::size_t>(*bytes))};
  source.read(prefix.data_begin, tensor.bytes);
  const auto size = static_cast<std::size_t>(size_of(element.dtype));
  if (element.big_endian) swap_byte_order(tensor.bytes, size);
  if (element.dtype == DTypeKind::boolean) {
    check_bool_bytes(tensor.bytes, file, prefix.data_begin);
  }
  if (prefix.header.fortran_order && shape.size() > 1) {
    tensor.bytes = row_major(tensor.bytes, shape, size);
  }
  return tensor;
}

TensorData read_npy(const std::string& path) { return read_npy(FileSource(path)); }

TensorData read_npy(std::span<const std::byte> bytes, const std::string& name) {
  return read_npy(MemorySource(name, bytes));
}

std::vector<std::byte> npy_prefix(const TensorData& tensor, const std::string& name) {
  const std::optional<std::string_view> descr = descr_of(tensor.dtype);
  if (!descr) {
    throw bad(name, fmt::format("the .npy format has no {}; write a .safetensors file, or cast to "
                                "f32 first",
                                name_of(tensor.dtype)));
  }
  std::string header = print_npy_header({std::string(*descr), false, tensor.shape});
  // Version 2.0 only where the header does not fit into 1.0's 16-bit length.
  const bool wide = header.size() + 64 > 0xffff;
  const std::size_t fixed = wide ? 12 : 10;
  header.append(63 - (fixed + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string out(kMagic);
  out.push_back(wide ? '\2' : '\1');
  out.push_back('\0');
  for (std::size_t shift = 0; shift < 8 * (fixed - 8); shift += 8) {
    out.push_back(static_cast<char>(header.size() >> shift & 0xff));
  }
  out += header;
  const auto view = std::as_bytes(std::span(out));
  return {view.begin(), view.end()};
}

void write_npy(const std::string& path, const TensorData& tensor) {
  const std::vector<std::byte> prefix = npy_prefix(tensor, path);
  write_file(path, std::array<std::span<const std::byte>, 2>{prefix, tensor.bytes});
}

}  // namespace coconet
