#include "coconet/schedule/choice.h"

#include <numeric>

namespace coconet {
namespace {

std::string text_of(const Case& one) {
  std::string out = one.dim.empty() ? "else" : one.dim + " <= " + std::to_string(one.most);
  out += ": " + (one.schedule.empty() ? "unscheduled" : one.schedule);
  const std::string knobs = text_of(one.knobs);
  return knobs.empty() ? out : out + " " + knobs;
}

std::int64_t size_of(const std::string& dim, const Sizes& sizes) {
  const auto list = sizes.lists.find(dim);
  if (list != sizes.lists.end()) {
    return std::accumulate(list->second.begin(), list->second.end(), std::int64_t{0});
  }
  const auto size = sizes.find(dim);
  if (size != sizes.end()) return size->second;
  throw UserError(ErrorKind::data,
                  "the dim " + dim + " has no size; " + how_to_give(dim + "=SIZE"));
}

}  // namespace

std::string text_of(const Knobs& knobs) {
  std::string out;
  for (std::size_t i = 0; i < knobs.chunks.size(); ++i) {
    out += (i == 0 ? "chunks(" : ",") + std::to_string(knobs.chunks[i]);
  }
  if (!knobs.chunks.empty()) out += ")";
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (knobs.one_shot) add(*knobs.one_shot ? "one_shot" : "direct");
  if (knobs.threads > 0) add("threads(" + std::to_string(knobs.threads) + ")");
  return out;
}

std::string text_of(const Choice& choice) {
  std::string out = "choice " + choice.name + " for " + choice.program + " {\n";
  for (const Case& one : choice.cases) out += "  " + text_of(one) + "\n";
  return out + "}\n";
}

const Case& pick(const Choice& choice, const Sizes& sizes) {
  for (const Case& one : choice.cases) {
    if (one.dim.empty() || size_of(one.dim, sizes) <= one.most) return one;
  }
  throw InternalError("the last case of a choice holds for all sizes");
}

}  // namespace coconet
