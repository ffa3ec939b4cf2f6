#include "coconet/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "coconet/base/error.h"
#include "coconet/io/byte_source.h"
#include "coconet/io/tensor_data.h"

namespace coconet {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxDepth = 3;               // {name: {shape: [dim]}}
constexpr std::string_view kMetadata = "__metadata__";

struct KnownDtype {
  std::string_view name;
  int bits;
  std::optional<DTypeKind> kind;
};
// Those without a kind are listed, so that a file that holds them beside others can be used.
constexpr std::array<KnownDtype, 16> kDtypes{{{"F16", 16, DTypeKind::f16},
                                              {"BF16", 16, DTypeKind::bf16},
                                              {"F32", 32, DTypeKind::f32},
                                              {"F64", 64, DTypeKind::f64},
                                              {"I32", 32, DTypeKind::i32},
                                              {"I64", 64, DTypeKind::i64},
                                              {"BOOL", 8, DTypeKind::boolean},
                                              {"U8", 8, {}},
                                              {"I8", 8, {}},
                                              {"I16", 16, {}},
                                              {"U16", 16, {}},
                                              {"U32", 32, {}},
                                              {"U64", 64, {}},
                                              {"F8_E5M2", 8, {}},
                                              {"F8_E4M3", 8, {}},
                                              {"F8_E8M0", 8, {}}}};

const KnownDtype* find_dtype(std::string_view name) {
  const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                   [&](const KnownDtype& dtype) { return dtype.name == name; });
  return found == kDtypes.end() ? nullptr : found;
}

// Refuses what plain parsing would take. A callback of Json::parse would do, but at the end of each
// object that searches the whole one around it.
class HeaderWatch : public nlohmann::json_sax<Json> {
 public:
  std::string refusal;  // "" of what is not JSON, which Json::parse tells

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    const char* const kind = keys_.size() == 1 ? "name" : "key";
    refusal = fmt::format("its header has the {} {:?} twice", kind, key);
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool enter() {
    if (keys_.size() == kMaxDepth) refusal = "its header nests deeper than {name: {shape: [dim]}}";
    keys_.emplace_back();
    return refusal.empty();
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // of what is open; of an array none
};

class HeaderReader {
 public:
  explicit HeaderReader(const ByteSource& source) : source_(source) {}

  SafetensorsHeader read() {
    const Json json = parse(read_text());
    if (!json.is_object()) fail(fmt::format("its header is {}; an object is needed", found(json)));
    SafetensorsHeader header;
    for (const auto& [name, value] : json.items()) {
      if (name == kMetadata) {
        header.metadata = metadata(value);
      } else {
        header.entries.push_back(entry(name, value));
      }
    }
    check_cover(header.entries);
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    throw UserError(ErrorKind::data, fmt::format("{}: {}", source_.name(), text));
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& text) const {
    fail(fmt::format("the tensor {:?} {}", tensor, text));
  }

  // A value as an error shows it; long ones are cut.
  static std::string found(const Json& json) {
    std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
  }

  std::string read_text() {
    if (source_.size() < kLengthBytes) {
      fail(fmt::format("has {} bytes; a .safetensors file begins with an 8-byte header length",
                       source_.size()));
    }
    std::array<std::byte, kLengthBytes> length_bytes;
    source_.read(0, length_bytes);
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) {
      length = length << 8 | std::to_integer<std::uint64_t>(length_bytes[i]);
    }
    if (length > source_.size() - kLengthBytes) {
      fail(
          fmt::format("gives its header a length of {} bytes, but only {} follow byte 8; it is "
                      "truncated or not a .safetensors file",
                      length, source_.size() - kLengthBytes));
    }
    if (length > kMaxHeader) {
      fail(fmt::format("has a header of {} bytes; at most {} are legal", length, kMaxHeader));
    }
    data_begin_ = kLengthBytes + length;
    std::string text = source_.read_text(kLengthBytes, length);
    if (text.empty() || text[0] != '{') {
      fail(fmt::format("its header begins with {:?} at byte 8; '{{' is needed", text.substr(0, 8)));
    }
    return text;
  }

  // Objects keep one value a key, so duplicates are refused while parsing.
  Json parse(const std::string& text) const {
    HeaderWatch watch;
    Json::sax_parse(text, &watch);
    if (!watch.refusal.empty()) fail(watch.refusal);
    try {
      return Json::parse(text);
    } catch (const Json::parse_error& error) {
      const std::uint64_t at = kLengthBytes + (error.byte == 0 ? 0 : error.byte - 1);
      fail(fmt::format("its header is not valid JSON at byte {}: {}", at, error.what()));
    } catch (const Json::exception& error) {
      fail(fmt::format("its header is not valid JSON: {}", error.what()));
    }
  }

  std::map<std::string, std::string> metadata(const Json& json) const {
    if (!json.is_object()) {
      fail(fmt::format("__metadata__ is {}; an object of strings is needed", found(json)));
    }
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) {
        fail(fmt::format("__metadata__ {:?} is {}; a string is needed", key, found(value)));
      }
      out[key] = value.get<std::string>();
    }
    return out;
  }

  SafetensorsEntry entry(const std::string& name, const Json& json) const {
    constexpr std::string_view kNeeded = "dtype, shape and data_offsets are needed";
    if (!json.is_object()) fail(name, fmt::format("is {}; {}", found(json), kNeeded));
    for (const auto& [key, value] : json.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(name, fmt::format("has the unknown key {:?}; {}", key, kNeeded));
      }
    }
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
      if (!json.contains(key)) fail(name, fmt::format("has no {}; {}", key, kNeeded));
    }
    const Json& dtype = json["dtype"];
    if (!dtype.is_string()) {
      fail(name, fmt::format("has the dtype {}; a string is needed", found(dtype)));
    }
    SafetensorsEntry out;
    out.name = name;
    out.dtype_name = dtype.get<std::string>();
    out.shape = shape(name, json["shape"]);
    std::tie(out.begin, out.end) = offsets(name, json["data_offsets"]);
    check_size(out);
    const KnownDtype* known = find_dtype(out.dtype_name);
    if (known != nullptr) out.dtype = known->kind;
    return out;
  }

  std::vector<std::int64_t> shape(const std::string& name, const Json& json) const {
    if (!json.is_array()) {
      fail(name, fmt::format("has the shape {}; an array of dims is needed", found(json)));
    }
    std::vector<std::int64_t> dims;
    for (const Json& dim : json) {
      if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > INT64_MAX) {
        fail(name, fmt::format("has the dim {}; a whole number from 0 to 2^63 - 1 is needed",
                               found(dim)));
      }
      dims.push_back(dim.get<std::int64_t>());
    }
    return dims;
  }

  std::pair<std::uint64_t, std::uint64_t> offsets(const std::string& name, const Json& json) const {
    if (!json.is_array() || json.size() != 2 || !json[0].is_number_unsigned() ||
        !json[1].is_number_unsigned()) {
      fail(name, fmt::format("has the data_offsets {}; [begin, end] is needed", found(json)));
    }
    const auto begin = json[0].get<std::uint64_t>();
    const auto end = json[1].get<std::uint64_t>();
    const std::uint64_t data_size = source_.size() - data_begin_;
    if (begin > end || end > data_size) {
      fail(name,
           fmt::format("has the data_offsets [{}, {}]; begin <= end <= {}, the bytes after "
                       "the header, is needed{}",
                       begin, end, data_size, begin <= end ? " (is the file truncated?)" : ""));
    }
    return {data_begin_ + begin, data_begin_ + end};
  }

  void check_size(const SafetensorsEntry& entry) const {
    const KnownDtype* known = find_dtype(entry.dtype_name);
    if (known == nullptr) return;
    const std::optional<std::int64_t> elements = element_count(entry.shape);
    std::int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, std::int64_t{known->bits / 8}, &bytes)) {
      fail(entry.name, fmt::format("is {}{}, more than 2^63 - 1 bytes", entry.dtype_name,
                                   text_of_shape(entry.shape)));
    }
    if (static_cast<std::uint64_t>(bytes) != entry.end - entry.begin) {
      fail(entry.name, fmt::format("is {}{} and needs {} bytes, but its data_offsets give it {}",
                                   entry.dtype_name, text_of_shape(entry.shape), bytes,
                                   entry.end - entry.begin));
    }
  }

  // Every byte after the header belongs to one tensor.
  void check_cover(const std::vector<SafetensorsEntry>& entries) const {
    std::vector<const SafetensorsEntry*> order;
    for (const SafetensorsEntry& entry : entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
    });
    std::uint64_t covered = data_begin_;
    const SafetensorsEntry* last = nullptr;
    for (const SafetensorsEntry* entry : order) {
      if (entry->begin < covered) {
        fail(entry->name, fmt::format("begins at byte {}, inside {:?}, which ends at byte {}; "
                                      "tensors may not overlap",
                                      entry->begin, last->name, covered));
      }
      if (entry->begin > covered) {
        fail(entry->name, fmt::format("begins at byte {}, but bytes {} to {} belong to no tensor; "
                                      "tensors must follow each other without gaps",
                                      entry->begin, covered, entry->begin));
      }
      covered = entry->end;
      last = entry;
    }
    if (covered != source_.size()) {
      fail(fmt::format("has {} extra bytes: its tensors end at byte {}, the file at {}",
                       source_.size() - covered, covered, source_.size()));
    }
  }

  const ByteSource& source_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace

std::string_view safetensors_name_of(DTypeKind dtype) {
  const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                   [&](const KnownDtype& known) { return known.kind == dtype; });
  check(found != kDtypes.end(), "every dtype has a safetensors name");
  return found->name;
}

SafetensorsHeader read_safetensors_header(const ByteSource& source) {
  return HeaderReader(source).read();
}

std::string print_safetensors_header(const std::vector<SafetensorsEntry>& entries,
                                     const std::map<std::string, std::string>& metadata,
                                     const std::string& file) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[std::string(kMetadata)] = metadata;
  auto& members = json.get_ref<nlohmann::ordered_json::object_t&>();
  for (const SafetensorsEntry& entry : entries) {
    if (entry.name == kMetadata) {
      throw UserError(ErrorKind::data, fmt::format("{}: a tensor cannot be named {}, which the "
                                                   "format reserves; any other name is legal",
                                                   file, kMetadata));
    }
    // json[name] would search all that are there.
    members.emplace_back(entry.name,
                         nlohmann::ordered_json{{"dtype", safetensors_name_of(*entry.dtype)},
                                                {"shape", entry.shape},
                                                {"data_offsets", {entry.begin, entry.end}}});
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::ordered_json::type_error& error) {
    throw UserError(ErrorKind::data,
                    fmt::format("{}: a name or a metadata text cannot be written: {}; UTF-8 is "
                                "needed",
                                file, error.what()));
  }
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  std::string out;
  for (std::uint64_t i = 0; i < kLengthBytes; ++i) {
    out.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  }
  return out + text;
}

}  // namespace coconet
