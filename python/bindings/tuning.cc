// The autotuner.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "coconet/tune/decision.h"
#include "python/bindings/convert.h"
#include "python/bindings/given.h"
#include "python/bindings/interrupt.h"
#include "python/bindings/parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coconet::python {
namespace {

nb::dict decide(const Graph& program, nb::handle ranks, const nb::dict& inputs,
                const nb::dict& sizes, const std::vector<Schedule>& schedules,
                const std::vector<std::string>& staged, int threads, bool allow_reassociation) {
  execute::GlobalTensors given = given_of(program, inputs);
  interp::Setting setting;
  setting.mesh = mesh_of(program.mesh(), ranks);
  setting.sizes = execute::bind_dims(program, given, setting.mesh, sizes_of(sizes));
  execute::give_ones(program, given);
  tune::TuneOptions options;
  options.schedules = schedules;
  options.staged = staged;
  options.threads = threads;
  options.search.allow_reassociation = allow_reassociation;
  tune::Decision decision;
  interruptible([&] { decision = tune::decide(program, given, setting, options); });
  nb::dict out;
  out["schedule"] = decision.schedule.steps.empty() ? nb::none() : nb::cast(decision.schedule);
  out["chunks"] = nb::cast(decision.knobs.chunks);
  const std::optional<bool>& one_shot = decision.knobs.one_shot;
  out["protocol"] = !one_shot ? "auto" : *one_shot ? "one-shot" : "direct";
  out["threads"] = decision.knobs.threads;
  out["us"] = decision.us;
  out["unscheduled_us"] = decision.unscheduled_us;
  out["spread"] = decision.spread;
  out["from_store"] = decision.from_store;
  return out;
}

}  // namespace

void bind_tuning(nb::module_& module) { module.def("_decide", decide); }

}  // namespace coconet::python
