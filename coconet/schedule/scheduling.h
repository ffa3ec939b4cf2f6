// The C++ form of schedules. A step is applied when it is written, so an error comes at the user's
// call and carries its place.
//
//   Scheduling s("overlapped", p.graph());
//   const auto [rs, ag] = s.split(total).as("rs", "ag");
//   const auto [body, gather] = s.reorder(ag, {drop, out}).as("body", "gather");
//   const auto [ar] = s.fuse({rs, body, gather}).as("ar");
//   s.overlap({layer, ar});
//   const Schedule schedule = s.schedule();
#pragma once

#include <array>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "coconet/program/tensor.h"
#include "coconet/schedule/apply.h"

namespace coconet {

// What a step takes and gives: a value of the program or a result of an earlier step, by its name.
// It survives the steps that follow.
class StepName {
 public:
  StepName(const Tensor& tensor) : text_(tensor.name()) {}  // NOLINT: converts
  StepName(std::string text) : text_(std::move(text)) {}    // NOLINT: converts
  StepName(const char* text) : text_(text) {}               // NOLINT: converts
  const std::string& text() const { return text_; }

 private:
  std::string text_;  // "" for a tensor without a name
};

class Scheduling {
 public:
  using At = CallSite;

  // The step just written, to name its results.
  class Written {
   public:
    // As many names as the step has results. UserError(schedule) otherwise.
    template <class... Names>
    std::array<StepName, sizeof...(Names)> as(Names... names) const {
      scheduling_->name_results(step_, {std::string(names)...});
      return {StepName(std::string(names))...};
    }
    void as_all(std::vector<std::string> names) const {
      scheduling_->name_results(step_, std::move(names));
    }

   private:
    friend class Scheduling;
    Written(Scheduling* scheduling, std::size_t step) : scheduling_(scheduling), step_(step) {}
    Scheduling* scheduling_;
    std::size_t step_;
  };

  Scheduling(std::string name, const Graph& graph, At at = std::source_location::current());

  Written split(const StepName& all_reduce, At at = std::source_location::current());
  Written split(const StepName& all_reduce, const Slice& slice,
                At at = std::source_location::current());
  // `kind`: rs_ag, reduce_broadcast or hierarchical.
  Written split(const StepName& all_reduce, const std::string& kind,
                std::optional<Slice> slice = std::nullopt, At at = std::source_location::current());
  // `axis` by its name; "" where the value is replicated on one alone.
  Written distribute(const StepName& value, std::optional<Slice> slice = std::nullopt,
                     const std::string& axis = "", At at = std::source_location::current());
  Written reorder(const StepName& gather, const std::vector<StepName>& operations,
                  At at = std::source_location::current());
  Written reorder(const std::vector<StepName>& gathers, const std::vector<StepName>& operations,
                  At at = std::source_location::current());
  Written as_slice(const StepName& state, At at = std::source_location::current());
  Written as_rooted(const StepName& state, At at = std::source_location::current());
  Written dead(const StepName& gather, At at = std::source_location::current());
  Written fuse(const std::vector<StepName>& parts, At at = std::source_location::current());
  Written overlap(const std::vector<StepName>& stages, At at = std::source_location::current());

  const Schedule& schedule() const { return schedule_; }
  // The graph after the steps so far.
  const Graph& graph() const { return after_.graph; }

 private:
  Written add(std::string verb, std::vector<StepArgument> arguments, const At& at);
  void name_results(std::size_t step, std::vector<std::string> names);

  Schedule schedule_;
  Applied before_;  // the last step
  Applied after_;
};

}  // namespace coconet
