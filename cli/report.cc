#include "cli/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace coconet::cli {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

const char* yes_no(bool value) { return value ? "yes" : "no"; }

std::string mesh_text(const Report& report) {
  std::string out;
  for (int axis = 0; axis < report.mesh.size(); ++axis) {
    out += (axis > 0 ? ", " : "") + report.mesh.axes[axis] + "=" +
           std::to_string(report.setting.mesh.sizes[axis]);
  }
  return out;
}

std::string output_text(const Report& report, const OutputReport& output) {
  std::string out = format("%-10s %s = %s", output.storage ? "state" : "output",
                           output.name.c_str(), output.type.text(report.mesh).c_str());
  out += " " + text_of_shape(output.value.shape) + "\n";
  if (output.check) {
    out += format("           bit-equal to unscheduled: %s",
                  yes_no(output.check->bit_equal_to_unscheduled));
    if (!output.check->bit_equal_to_unscheduled) {
      out += format(" (largest difference %.3g)", output.check->difference_to_unscheduled);
    }
    out += format("; largest difference to the interpreter: %.3g",
                  output.check->difference_to_interpreter);
    if (output.within_bound) out += format("; within bound: %s", yes_no(*output.within_bound));
    out += "\n";
  }
  if (output.want) {
    out += format("           want: largest difference %.3g; within bound: %s",
                  output.want->max_difference, yes_no(output.want->within_bound));
    if (!output.want->where.empty()) out += ", worst at " + output.want->where;
    out += "\n";
  }
  return out;
}

}  // namespace

bool Report::good() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputReport& output) {
    return (!output.check || output.check->bit_equal_to_unscheduled) &&
           output.within_bound.value_or(true) && (!output.want || output.want->within_bound);
  });
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string text_of(const Report& report) {
  std::string out =
      format("program    %s, %s\n", report.program.c_str(),
             report.schedule.empty() ? "unscheduled" : ("schedule " + report.schedule).c_str());
  out += "mesh       " + mesh_text(report) + "\n";
  out += "dims       ";
  bool first = true;
  for (const auto& [name, size] : report.setting.sizes) {
    out += (first ? "" : ", ") + name + "=" + std::to_string(size);
    first = false;
  }
  out += "\n";
  for (const OutputReport& output : report.outputs) out += output_text(report, output);
  if (!report.first_outside.empty()) out += "outside    " + report.first_outside + "\n";
  const auto [least, most] =
      std::minmax_element(report.microseconds.begin(), report.microseconds.end());
  out += format("time       median %.1f us, min %.1f, max %.1f (slowest rank, %d calls)\n",
                median(report.microseconds), *least, *most,
                static_cast<int>(report.microseconds.size()));
  out += format("kernels    %d, %lld bytes to and from peers a rank, compiled in %.0f ms\n",
                report.kernels, static_cast<long long>(report.bytes_sent),
                report.compile_milliseconds);
  return out;
}

std::string json_of(const Report& report) {
  using nlohmann::json;
  json mesh = json::object(), dims = json::object();
  for (int axis = 0; axis < report.mesh.size(); ++axis) {
    mesh[report.mesh.axes[axis]] = report.setting.mesh.sizes[axis];
  }
  for (const auto& [name, size] : report.setting.sizes) dims[name] = size;
  json outputs = json::array();
  for (const OutputReport& output : report.outputs) {
    json one = {{"name", output.name},
                {"dtype", name_of(output.type.dtype.kind)},
                {"shape", output.value.shape},
                {"placement", output.type.layout.text(report.mesh)}};
    one["bit_equal_to_unscheduled"] =
        output.check ? json(output.check->bit_equal_to_unscheduled) : json();
    one["max_difference_to_interpreter"] =
        output.check ? json(output.check->difference_to_interpreter) : json();
    one["within_bound"] = output.within_bound ? json(*output.within_bound) : json();
    one["want"] = output.want ? json{{"max_difference", output.want->max_difference},
                                     {"within_bound", output.want->within_bound}}
                              : json();
    outputs.push_back(std::move(one));
  }
  const auto [least, most] =
      std::minmax_element(report.microseconds.begin(), report.microseconds.end());
  return json{{"program", report.program},
              {"schedule", report.schedule},
              {"mesh", mesh},
              {"dims", dims},
              {"seed", report.setting.seed},
              {"outputs", outputs},
              {"time_us",
               {{"median", median(report.microseconds)},
                {"min", *least},
                {"max", *most},
                {"per_rank", report.microseconds_of_ranks}}},
              {"kernels", report.kernels},
              {"bytes_sent", report.bytes_sent},
              {"compile_ms", report.compile_milliseconds}}
             .dump(2) +
         "\n";
}

}  // namespace coconet::cli
