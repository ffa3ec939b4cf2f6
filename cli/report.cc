#include "cli/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coconet/base/error.h"
#include "coconet/base/nearest.h"

namespace coconet::cli {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  std::string out(std::snprintf(nullptr, 0, pattern, arguments...), '\0');
  std::snprintf(out.data(), out.size() + 1, pattern, arguments...);
  return out;
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

// Of a list's dim the sizes of its members.
std::string dims_text(const Report& report) {
  const Sizes& sizes = report.setting.sizes;
  std::string out;
  for (const std::string& name : report.dims) {
    out += (out.empty() ? "" : ", ") + name + "=";
    const auto list = sizes.lists.find(name);
    if (list == sizes.lists.end()) {
      out += std::to_string(sizes.at(name));
      continue;
    }
    for (std::size_t k = 0; k < list->second.size(); ++k) {
      out += (k > 0 ? "," : "") + std::to_string(list->second[k]);
    }
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
      out += format(" (%s; largest difference %.3g)",
                    report.exact ? "it should be" : "the schedule reassociates",
                    output.check->difference_to_unscheduled);
    }
    out += format("; largest difference to the interpreter: %.3g",
                  output.check->difference_to_interpreter);
    if (output.within_bound) out += format("; within bound: %s", yes_no(*output.within_bound));
    out += "\n";
  }
  if (output.want) {
    out += format("           want: largest difference %.3g; within bound: %s",
                  output.want->max_difference, yes_no(output.want->within_bound));
    if (!output.want->where.empty()) {
      out += ", worst at " + output.want->where + ": " + output.want->found;
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::vector<Failure> failures_of(const Report& report) {
  std::vector<Failure> out;
  for (const OutputReport& output : report.outputs) {
    if (output.want && !output.want->within_bound) {
      const std::string place = output.name + output.want->where;
      out.push_back({format("%s is not within its bound of the wanted value: largest difference "
                            "%.6g, worst at %s: %s",
                            output.name.c_str(), output.want->max_difference,
                            output.want->where.c_str(), output.want->found.c_str()),
                     place});
    }
    if (!output.check) continue;
    const execute::OutputCheck& check = *output.check;
    if (report.exact && !check.bit_equal_to_unscheduled) {
      out.push_back({output.name +
                         " has not the bits of the unscheduled program, which this "
                         "schedule promises: " +
                         check.first_difference,
                     output.name});
    }
    if (!check.first_replica_difference.empty()) {
      out.push_back({output.name + " is not the same on all ranks that hold it: " +
                         check.first_replica_difference,
                     output.name});
    }
  }
  if (!report.first_outside.empty()) {
    out.push_back(
        {"an operation left its bound on the values of its own inputs: " + report.first_outside,
         report.first_outside.substr(0, report.first_outside.find(':'))});
  }
  return out;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
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
  if (!report.knobs.empty()) out += "knobs      " + report.knobs + "\n";
  out += "mesh       " + mesh_text(report) + "\n";
  out += "dims       " + dims_text(report) + "\n";
  out += "threads    " + std::to_string(report.threads) + " a rank\n";
  if (!report.drawn.empty()) {
    out += "drawn      " + listed(report.drawn) + " from seed " +
           std::to_string(report.setting.seed) + "\n";
  }
  for (const OutputReport& output : report.outputs) out += output_text(report, output);
  if (!report.first_outside.empty()) out += "outside    " + report.first_outside + "\n";
  const auto [least, most] =
      std::minmax_element(report.microseconds.begin(), report.microseconds.end());
  const bool first = report.microseconds.size() == 1;
  out += format("time       median %.1f us, min %.1f, max %.1f (slowest rank, %s)\n",
                median(report.microseconds), *least, *most,
                first ? "the first call; --repeat makes more"
                      : counted(report.microseconds.size(), "call").c_str());
  out += format("kernels    %d, %lld bytes to and from peers a rank, compiled in %.0f ms\n",
                report.kernels, static_cast<long long>(report.bytes_sent),
                report.compile_milliseconds);
  return out;
}

namespace {

using json = nlohmann::ordered_json;  // keys in the order in which they are documented

// Bytes that are no UTF-8, as in a file's name, are replaced.
std::string dumped(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

json json_of(const Report& report, const OutputReport& output) {
  json out = {{"name", output.name},
              {"kind", output.storage ? "storage" : "output"},
              {"dtype", name_of(output.type.dtype.kind)},
              {"shape", output.value.shape},
              {"placement", output.type.layout.text(report.mesh)}};
  const auto& check = output.check;
  out["bit_equal_to_unscheduled"] = check ? json(check->bit_equal_to_unscheduled) : json();
  out["max_difference_to_interpreter"] = check ? json(check->difference_to_interpreter) : json();
  out["within_bound"] = output.within_bound ? json(*output.within_bound) : json();
  out["want"] = output.want ? json{{"max_difference", output.want->max_difference},
                                   {"within_bound", output.want->within_bound}}
                            : json();
  return out;
}

}  // namespace

void add_errors(nlohmann::ordered_json& object, const std::vector<ReportedError>& errors) {
  json all = json::array();
  for (const ReportedError& error : errors) {
    all.push_back({{"kind", error.kind},
                   {"message", error.message},
                   {"where", error.where},
                   {"exit_code", error.exit_code}});
  }
  object["error"] = all[0];
  object["errors"] = all;
}

ReportedError reported(const UserError& error) {
  return {std::string(name_of(error.kind())), error.message(), error.where().text(),
          exit_code_of(error.kind())};
}

std::string json_of_errors(const std::vector<ReportedError>& errors) {
  json out = json::object();
  add_errors(out, errors);
  return dumped(out, -1);
}

nlohmann::ordered_json mesh_json(const Mesh& mesh, const interp::Setting& setting) {
  json out = json::object();
  for (int axis = 0; axis < mesh.size(); ++axis) out[mesh.axes[axis]] = setting.mesh.sizes[axis];
  return out;
}

nlohmann::ordered_json dims_json(const std::vector<std::string>& dims,
                                 const interp::Setting& setting) {
  json out = json::object();
  for (const std::string& name : dims) {
    const auto list = setting.sizes.lists.find(name);
    const bool one = list == setting.sizes.lists.end();
    out[name] = one ? json(setting.sizes.at(name)) : json(list->second);
  }
  return out;
}

std::string json_of(const Report& report) {
  json outputs = json::array();
  for (const OutputReport& output : report.outputs) outputs.push_back(json_of(report, output));
  const auto [least, most] =
      std::minmax_element(report.microseconds.begin(), report.microseconds.end());
  json out = {{"program", report.program},
              {"schedule", report.schedule},
              {"knobs", report.knobs},
              {"mesh", mesh_json(report.mesh, report.setting)},
              {"dims", dims_json(report.dims, report.setting)},
              {"threads", report.threads},
              {"seed", report.setting.seed},
              {"outputs", outputs},
              {"time_us",
               {{"median", median(report.microseconds)},
                {"min", *least},
                {"max", *most},
                {"per_rank", report.microseconds_of_ranks}}},
              {"kernels", report.kernels},
              {"bytes_sent", report.bytes_sent},
              {"compile_ms", report.compile_milliseconds}};
  std::vector<ReportedError> errors;
  for (const Failure& failure : failures_of(report)) {
    errors.push_back({std::string(name_of(ErrorKind::data)), failure.message, failure.where,
                      exit_code_of(ErrorKind::data)});
  }
  if (!errors.empty()) add_errors(out, errors);
  return dumped(out, 2);
}

}  // namespace coconet::cli
