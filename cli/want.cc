#include "cli/want.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "coconet/base/error.h"
#include "coconet/io/tensor_spec.h"

namespace coconet::cli {
namespace {

void read_bound(const std::string& text, Want& want) {
  const std::size_t comma = text.find(',');
  if (comma != text.rfind(',')) {
    throw UserError(ErrorKind::usage, "--bound takes ABS or ABS,REL; found '" + text + "'");
  }
  want.absolute = number_of(text.substr(0, comma), "--bound");
  if (comma != std::string::npos) want.relative = number_of(text.substr(comma + 1), "--bound");
  if (!(want.absolute >= 0) || !(want.relative >= 0)) {
    throw UserError(ErrorKind::usage, "--bound takes numbers from 0 on; found '" + text + "'");
  }
}

std::string index_text(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::string out;
  for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
    out = std::to_string(flat % *size) + (out.empty() ? "" : ",") + out;
    flat /= *size;
  }
  return "[" + out + "]";
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

double distance(std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return static_cast<double>(a < b ? y - x : x - y);
}

}  // namespace

std::vector<Want> read_wants(const RunArguments& arguments) {
  std::vector<Want> out;
  const auto& bounds = arguments.bounds;
  if (!bounds.empty() && arguments.wants.empty()) {
    throw UserError(ErrorKind::usage, "--bound belongs to a --want; give one");
  }
  if (bounds.size() > 1 && bounds.size() != arguments.wants.size()) {
    throw UserError(ErrorKind::usage, "found " + std::to_string(bounds.size()) + " --bound for " +
                                          std::to_string(arguments.wants.size()) +
                                          " --want; give one for each, or one for all");
  }
  for (const auto& [name, source] : pairs_of(arguments.wants, "--want")) {
    Want want{name, source, {}};
    with_option("--want " + name,
                [&] { want.value = read_tensor(parse_tensor_spec(source), name); });
    if (!bounds.empty()) read_bound(bounds[bounds.size() == 1 ? 0 : out.size()], want);
    out.push_back(std::move(want));
  }
  return out;
}

void check_shape(const Want& want, const std::vector<std::int64_t>& shape) {
  if (shape == want.value.shape) return;
  throw UserError(ErrorKind::data, "--want " + want.name + "=" + want.source + " has shape " +
                                       text_of_shape(want.value.shape) + "; " + want.name +
                                       " has " + text_of_shape(shape));
}

WantResult compare(const TensorData& got, const Want& want) {
  WantResult out;
  double worst = -1;
  // Beyond 2^53 an integer's double is rounded.
  const bool exact = got.dtype == DTypeKind::i64 && want.value.dtype == DTypeKind::i64;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double g = got.value(i), w = want.value.value(i);
    const std::int64_t gi = exact ? got.integer(i) : 0, wi = exact ? want.value.integer(i) : 0;
    if (gi == wi && (exact || g == w || (std::isnan(g) && std::isnan(w)))) continue;
    double difference = exact ? distance(gi, wi) : std::abs(g - w);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    out.max_difference = std::max(out.max_difference, difference);
    const double bound = want.absolute + want.relative * std::abs(w);
    if (difference <= bound && std::isfinite(difference)) continue;
    const double beyond = std::isfinite(bound) ? difference - bound : difference;
    if (beyond <= worst) continue;
    worst = beyond;
    out.within_bound = false;
    out.where = index_text(i, got.shape);
    out.found = "got " + (exact ? std::to_string(gi) : number_text(g)) + ", want " +
                (exact ? std::to_string(wi) : number_text(w));
  }
  return out;
}

}  // namespace coconet::cli
