#include "coconet/type/dtype.h"

#include <array>

#include "coconet/base/error.h"

namespace coconet {
namespace {

struct Facts {
  DTypeKind kind;
  std::string_view name;
  int size;
  bool floating;
  int significand;  // bits, the implicit one included; of floating types
  int exponent;     // bits
};

constexpr std::array<Facts, 7> kFacts = {{
    {DTypeKind::f16, "f16", 2, true, 11, 5},
    {DTypeKind::bf16, "bf16", 2, true, 8, 8},
    {DTypeKind::f32, "f32", 4, true, 24, 8},
    {DTypeKind::f64, "f64", 8, true, 53, 11},
    {DTypeKind::i32, "i32", 4, false, 0, 0},
    {DTypeKind::i64, "i64", 8, false, 0, 0},
    {DTypeKind::boolean, "bool", 1, false, 0, 0},
}};

const Facts& facts_of(DTypeKind kind) {
  for (const Facts& facts : kFacts) {
    if (facts.kind == kind) return facts;
  }
  throw InternalError("a DTypeKind outside its enumerators");
}

}  // namespace

std::string_view name_of(DTypeKind kind) { return facts_of(kind).name; }

std::optional<DTypeKind> dtype_kind_of(std::string_view name) {
  for (const Facts& facts : kFacts) {
    if (facts.name == name) return facts.kind;
  }
  return std::nullopt;
}

int size_of(DTypeKind kind) { return facts_of(kind).size; }
bool is_floating(DTypeKind kind) { return facts_of(kind).floating; }

bool is_integer(DTypeKind kind) { return kind == DTypeKind::i32 || kind == DTypeKind::i64; }

DTypeKind accumulator_of(DTypeKind kind) {
  return kind == DTypeKind::f16 || kind == DTypeKind::bf16 ? DTypeKind::f32 : kind;
}

bool widens(DTypeKind from, DTypeKind to) {
  if (from == to) return true;
  const Facts& a = facts_of(from);
  const Facts& b = facts_of(to);
  // Integer sums wrap, and in another width elsewhere.
  return a.floating && b.floating && a.significand <= b.significand && a.exponent <= b.exponent;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> out;
  for (const Facts& facts : kFacts) out.emplace_back(facts.name);
  return out;
}

std::string DType::text() const {
  return parameter.empty() ? std::string(name_of(kind)) : parameter;
}

}  // namespace coconet
