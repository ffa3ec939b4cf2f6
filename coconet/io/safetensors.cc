#include "coconet/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coconet/base/error.h"
#include "coconet/io/bool_bytes.h"
#include "coconet/io/rows.h"
#include "coconet/io/write_file.h"

namespace coconet {
namespace {

UserError bad(const std::string& file, const std::string& text) {
  return UserError(ErrorKind::data, fmt::format("{}: {}", file, text));
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path)
    : source_(std::make_unique<FileSource>(path)), header_(read_safetensors_header(*source_)) {}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& name)
    : source_(std::make_unique<MemorySource>(name, bytes)),
      header_(read_safetensors_header(*source_)) {}

std::string SafetensorsFile::holds() const {
  constexpr std::size_t kShown = 12;
  if (entries().empty()) return "the file holds no tensors";
  std::string out = "the file holds ";
  for (std::size_t i = 0; i < std::min(entries().size(), kShown); ++i) {
    out += fmt::format("{}{:?}", i == 0 ? "" : ", ", entries()[i].name);
  }
  if (entries().size() > kShown) out += fmt::format(" and {} more", entries().size() - kShown);
  return out;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      header_.entries.begin(), header_.entries.end(), name,
      [](const SafetensorsEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != header_.entries.end() && found->name == name ? &*found : nullptr;
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const SafetensorsEntry* found = find(name);
  if (found == nullptr) {
    throw bad(path(), fmt::format("has no tensor {:?}; {}", name, holds()));
  }
  return *found;
}

DTypeKind SafetensorsFile::readable_dtype(const SafetensorsEntry& entry) const {
  if (!entry.dtype) {
    throw bad(path(), fmt::format("the tensor {:?} has the dtype {:?}; F16, BF16, F32, F64, I32, "
                                  "I64 and BOOL are read",
                                  entry.name, entry.dtype_name));
  }
  return *entry.dtype;
}

TensorData SafetensorsFile::read(std::string_view name) const {
  const SafetensorsEntry& found = entry(name);
  return read_at(found, found.begin, found.shape);
}

TensorData SafetensorsFile::read_rows(std::string_view name, std::int64_t first,
                                      std::int64_t last) const {
  const SafetensorsEntry& found = entry(name);
  const DTypeKind dtype = readable_dtype(found);
  const std::string label = fmt::format("{}: the tensor {:?}", path(), name);
  std::vector<std::int64_t> shape = shape_of_rows(found.shape, {first, last}, label);
  // The header's check says that the whole tensor's bytes, so any rows' offset, fit.
  const std::int64_t skipped = *byte_count(dtype, shape_of_rows(found.shape, {0, first}, label));
  return read_at(found, found.begin + static_cast<std::uint64_t>(skipped), std::move(shape));
}

TensorData SafetensorsFile::read_at(const SafetensorsEntry& entry, std::uint64_t begin,
                                    std::vector<std::int64_t> shape) const {
  TensorData tensor = TensorData::zeros(readable_dtype(entry), std::move(shape));
  source_->read(begin, tensor.bytes);
  if (tensor.dtype == DTypeKind::boolean) check_bool_bytes(tensor.bytes, path(), begin);
  return tensor;
}

void write_safetensors(const std::string& path, const std::map<std::string, TensorData>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const std::pair<const std::string, TensorData>*> order;
  for (const auto& named : tensors) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype) > size_of(b->second.dtype);
  });
  std::vector<SafetensorsEntry> entries;
  std::uint64_t at = 0;
  for (const auto* named : order) {
    const TensorData& tensor = named->second;
    check(static_cast<std::int64_t>(tensor.bytes.size()) == byte_count(tensor.dtype, tensor.shape),
          "a tensor's bytes match its shape");
    const std::uint64_t end = at + tensor.bytes.size();
    entries.push_back({named->first, "", tensor.dtype, tensor.shape, at, end});
    at = end;
  }
  const std::string header = print_safetensors_header(entries, metadata, path);
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(header))};
  for (const auto* named : order) parts.emplace_back(named->second.bytes);
  write_file(path, parts);
}

}  // namespace coconet
