#include "coconet/io/tensor_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "coconet/base/error.h"
#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"

namespace coconet {
namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::string_view kSafetensors = ".safetensors";

[[noreturn]] void fail(std::string_view text, const std::string& found) {
  throw UserError(ErrorKind::usage,
                  fmt::format("{:?}: {}; a tensor is named by FILE.npy, FILE.safetensors or "
                              "FILE.safetensors:NAME, each with [a:b] after it for the rows a to "
                              "b-1",
                              text, found));
}

std::optional<std::int64_t> bound(std::string_view digits, std::string_view text) {
  if (digits.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) {
    fail(text, fmt::format("the row {:?} is not a whole number of 0 or more", digits));
  }
  return value;
}

// Takes a last "[a:b]" off `rest`.
std::optional<RowRange> take_rows(std::string_view& rest, std::string_view text) {
  if (!rest.ends_with(']')) return std::nullopt;
  const std::size_t open = rest.rfind('[');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view inside = rest.substr(open + 1, rest.size() - open - 2);
  const std::size_t colon = inside.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  RowRange rows{bound(inside.substr(0, colon), text).value_or(0),
                bound(inside.substr(colon + 1), text)};
  if (rows.last && *rows.last < rows.first) {
    fail(text, fmt::format("the rows end at {}, before their begin {}", *rows.last, rows.first));
  }
  rest = rest.substr(0, open);
  return rows;
}

}  // namespace

TensorSpec parse_tensor_spec(std::string_view text) {
  TensorSpec spec;
  std::string_view rest = text;
  spec.rows = take_rows(rest, text);
  const std::size_t named = rest.find(fmt::format("{}:", kSafetensors));
  if (named != std::string_view::npos) {
    const std::size_t colon = named + kSafetensors.size();
    spec.name = std::string(rest.substr(colon + 1));
    rest = rest.substr(0, colon);
    if (spec.name->empty()) fail(text, "no name follows the ':'");
  } else if (rest.find(fmt::format("{}:", kNpy)) != std::string_view::npos) {
    fail(text, "a .npy file holds one tensor without a name");
  }
  spec.path = std::string(rest);
  if (!rest.ends_with(kNpy) && !rest.ends_with(kSafetensors)) {
    fail(text, "it ends neither in .npy nor in .safetensors");
  }
  return spec;
}

TensorData read_tensor(const TensorSpec& spec, std::string_view default_name) {
  if (spec.path.ends_with(kNpy)) {
    TensorData tensor = read_npy(spec.path);
    return spec.rows ? rows_of(tensor, *spec.rows, spec.path) : tensor;
  }
  const SafetensorsFile file(spec.path);
  const std::string_view name = spec.name ? std::string_view(*spec.name) : default_name;
  if (!spec.rows) return file.read(name);
  const std::vector<std::int64_t>& shape = file.entry(name).shape;
  const std::int64_t rows = shape.empty() ? 0 : shape[0];
  return file.read_rows(name, spec.rows->first, spec.rows->last.value_or(rows));
}

}  // namespace coconet
