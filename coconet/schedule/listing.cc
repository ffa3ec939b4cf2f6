#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/schedule/candidates.h"

namespace coconet {
namespace {

bool is_slice(const StepArgument& argument) { return std::holds_alternative<Slice>(argument); }

// Steps that differ in their slice alone, and are all exact or all not.
struct Family {
  Step without_slice;
  Exactness exactness;
  std::vector<Step> steps;
};

Step without_slice(Step step) {
  std::erase_if(step.arguments, is_slice);
  return step;
}

// Of steps that each have a slice.
std::string alternatives(std::vector<Step> steps) {
  for (Step& step : steps) step.results.clear();
  if (steps.size() == 1) return "; also " + text_of(steps[0]);
  std::string slices;
  for (const Step& step : steps) {
    const auto slice = std::ranges::find_if(step.arguments, is_slice);
    slices += (slices.empty() ? "" : ", ") + std::get<Slice>(*slice).text();
  }
  *std::ranges::find_if(steps[0].arguments, is_slice) = "SLICE";
  return "; also " + text_of(steps[0]) + " with SLICE " + slices;
}

}  // namespace

std::string text_of(const LegalStep& legal) {
  const bool exact = legal.exactness == Exactness::exact;
  return text_of(legal.step) + ": legal; " + (exact ? "exact" : "reassociates");
}

std::vector<std::string> listing(const std::vector<LegalStep>& steps) {
  std::vector<Family> families;
  for (const auto& [step, exactness] : steps) {
    const Step key = without_slice(step);
    const auto family = std::ranges::find_if(families, [&, wanted = exactness](const Family& one) {
      return one.without_slice == key && one.exactness == wanted;
    });
    if (family == families.end()) {
      families.push_back({key, exactness, {step}});
    } else {
      family->steps.push_back(step);
    }
  }
  std::vector<std::string> out;
  for (Family& family : families) {
    out.push_back(text_of(LegalStep{family.steps[0], family.exactness}));
    family.steps.erase(family.steps.begin());
    if (!family.steps.empty()) out.back() += alternatives(std::move(family.steps));
  }
  return out;
}

std::string explain(const Applied& applied, const Step& step) {
  try {
    const Applied after = apply(Applied{applied.graph, applied.handles, Exactness::exact}, step);
    return text_of(LegalStep{step, after.exactness});
  } catch (const UserError& error) {
    return "not legal: " + error.message();
  }
}

}  // namespace coconet
