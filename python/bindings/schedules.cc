// Schedules: written step by step, or as text; what may come next.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "coconet/schedule/candidates.h"
#include "coconet/schedule/file.h"
#include "coconet/schedule/scheduling.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coconet::python {
namespace {

StepName step_name_of(nb::handle object, const CallSite& at) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  throw UserError(ErrorKind::schedule,
                  "found " + nb::cast<std::string>(nb::repr(object)) +
                      "; needed is a tensor of the program that has a name, or the name of a "
                      "step's result",
                  at.where);
}

std::vector<StepName> step_names_of(nb::handle object, const CallSite& at) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) {
    return {step_name_of(object, at)};
  }
  std::vector<StepName> out;
  for (const nb::handle each : object) out.push_back(step_name_of(each, at));
  return out;
}

std::optional<Slice> slice_or_none(nb::handle object, const CallSite& at) {
  return object.is_none() ? std::nullopt : std::optional(slice_of(object, at));
}

// The step's results under the names of `into`: a name if that is one.
nb::object named(const Scheduling::Written& written, nb::handle into, const CallSite& at) {
  if (!into.is_none()) written.as_all(names_of(into, at));
  return nb::borrow(into);
}

using Written = Scheduling::Written;

constexpr const char* kInto = "into: the names of the results, which it returns.";

void bind_steps(nb::class_<Scheduling>& scheduling) {
  scheduling
      .def(
          "split",
          [](Scheduling& s, nb::handle value, nb::handle slice, const std::string& kind,
             nb::handle into) {
            const CallSite at = caller();
            const StepName name = step_name_of(value, at);
            const std::optional<Slice> by = slice_or_none(slice, at);
            const Written written = kind.empty() && by ? s.split(name, *by, at)
                                    : kind.empty()     ? s.split(name, at)
                                                       : s.split(name, kind, by, at);
            return named(written, into, at);
          },
          "all_reduce"_a, "slice"_a = nb::none(), "kind"_a = "", "into"_a = nb::none(), kInto)
      .def(
          "distribute",
          [](Scheduling& s, nb::handle value, nb::handle slice, const std::string& axis,
             nb::handle into) {
            const CallSite at = caller();
            return named(s.distribute(step_name_of(value, at), slice_or_none(slice, at), axis, at),
                         into, at);
          },
          "value"_a, "slice"_a = nb::none(), "axis"_a = "", "into"_a = nb::none(), kInto)
      .def(
          "reorder",
          [](Scheduling& s, nb::handle gathers, nb::handle operations, nb::handle into) {
            const CallSite at = caller();
            const std::vector<StepName> past = step_names_of(gathers, at);
            const std::vector<StepName> moved = step_names_of(operations, at);
            const Written written =
                past.size() == 1 ? s.reorder(past[0], moved, at) : s.reorder(past, moved, at);
            return named(written, into, at);
          },
          "gathers"_a, "operations"_a, "into"_a = nb::none(), kInto);
}

void bind_short_steps(nb::class_<Scheduling>& scheduling) {
  const auto of_one = [&](const char* verb,
                          Written (Scheduling::*step)(const StepName&, CallSite)) {
    scheduling.def(
        verb,
        [step](Scheduling& s, nb::handle value) {
          const CallSite at = caller();
          (s.*step)(step_name_of(value, at), at);
        },
        "value"_a);
  };
  of_one("as_slice", &Scheduling::as_slice);
  of_one("as_rooted", &Scheduling::as_rooted);
  of_one("dead", &Scheduling::dead);
  const auto of_several = [&](const char* verb,
                              Written (Scheduling::*step)(const std::vector<StepName>&, CallSite)) {
    scheduling.def(
        verb,
        [step](Scheduling& s, nb::handle parts, nb::handle into) {
          const CallSite at = caller();
          return named((s.*step)(step_names_of(parts, at), at), into, at);
        },
        "parts"_a, "into"_a = nb::none(), kInto);
  };
  of_several("fuse", &Scheduling::fuse);
  of_several("overlap", &Scheduling::overlap);
}

Step step_of(const std::string& text, const Graph& graph) {
  const std::string name = graph.header().program;
  return parse_schedule("schedule s for " + name + " {\n" + text + "\n}").steps.at(0);
}

}  // namespace

void bind_schedules(nb::module_& module) {
  nb::class_<Schedule>(module, "Schedule", "Steps that transform a program. str() is its text.")
      .def_ro("name", &Schedule::name)
      .def_ro("program", &Schedule::program)
      .def("__str__", [](const Schedule& schedule) { return text_of(schedule); })
      .def("__repr__",
           [](const Schedule& schedule) { return "<coconet.Schedule " + schedule.name + ">"; })
      .def(
          "__eq__",
          [](const Schedule& a, nb::handle b) {
            return nb::isinstance<Schedule>(b) && a == nb::cast<const Schedule&>(b);
          },
          "other"_a.none())
      .def(
          "apply",
          [](const Schedule& schedule, const Graph& graph) { return apply(graph, schedule).graph; },
          "graph"_a, "The graph that it makes.");
  nb::class_<Scheduling> scheduling(
      module, "Scheduling",
      "A schedule being written: a step is applied when it is written, so its error comes there.");
  scheduling
      .def(
          "__init__",
          [](Scheduling* self, const std::string& name, const Graph& graph) {
            new (self) Scheduling(name, graph, caller());
          },
          "name"_a, "graph"_a)
      .def_prop_ro("schedule", [](const Scheduling& s) { return s.schedule(); })
      .def_prop_ro(
          "graph", [](const Scheduling& s) { return s.graph(); }, "After the steps so far.");
  bind_steps(scheduling);
  bind_short_steps(scheduling);
  module.def(
      "parse_schedule",
      [](const std::string& text) {
        try {
          return parse_schedule(text);
        } catch (const UserErrors& errors) {
          throw ErrorsIn(errors, text);
        }
      },
      "text"_a, "Reads the text of one schedule.");
  module.def(
      "legal_steps",
      [](const Graph& graph, const std::optional<Schedule>& schedule) {
        return listing(legal_steps(schedule ? apply(graph, *schedule) : start(graph)));
      },
      "graph"_a, "schedule"_a = nb::none(), "What may come next, a line each.");
  module.def(
      "explain",
      [](const Graph& graph, const std::string& step, const std::optional<Schedule>& schedule) {
        return explain(schedule ? apply(graph, *schedule) : start(graph), step_of(step, graph));
      },
      "graph"_a, "step"_a, "schedule"_a = nb::none(),
      "Why a step, as \"fuse(rs, body, ag)\", applies after the schedule, or why it does not.");
}

}  // namespace coconet::python
