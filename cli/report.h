// What a run found, as a table for people or as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/want.h"
#include "coconet/execute/verify.h"

namespace coconet::cli {

struct OutputReport {
  std::string name;
  std::string list;  // of one of its members: the list's; else ""
  TensorType type;
  TensorData value;  // the global tensor
  bool storage = false;
  std::optional<execute::OutputCheck> check;  // with --verify
  std::optional<bool> within_bound;           // with --verify: of the operations that make it
  std::optional<WantResult> want;
};

struct Report {
  std::string program, schedule;
  std::string knobs;  // "--chunks 8 --protocol direct"; "": chosen by size
  Mesh mesh;
  std::vector<std::string> dims;  // in the order of their declaration
  interp::Setting setting;
  int threads = 1;  // of a rank
  std::vector<OutputReport> outputs;
  std::vector<std::string> drawn;    // inputs whose values came from the seed
  bool exact = true;                 // the schedule promises the unscheduled program's bits
  std::string first_outside;         // the operation that left its bound
  std::vector<double> microseconds;  // by call, of the slowest rank
  std::vector<double> microseconds_of_ranks;  // by rank, its median
  int kernels = 0;
  std::int64_t bytes_sent = 0;
  double compile_milliseconds = 0;
};

// A --verify or --want that does not hold.
struct Failure {
  std::string message;
  std::string where;  // the element, as "out[1,7]", or the operation
};
std::vector<Failure> failures_of(const Report& report);

// One error as --json has it.
struct ReportedError {
  std::string kind, message, where;
  int exit_code = 0;
};
// `error`, the first, and `errors`, all, in the object of what came to an end nevertheless.
void add_errors(nlohmann::ordered_json& object, const std::vector<ReportedError>& errors);
// The object of a run that did not come to an end: `error`, the first, and `errors`, all.
std::string json_of_errors(const std::vector<ReportedError>& errors);

ReportedError reported(const UserError& error);

// {"dp": 2}; {"N": 4096, "N_i": [5, 7]}.
nlohmann::ordered_json mesh_json(const Mesh& mesh, const interp::Setting& setting);
nlohmann::ordered_json dims_json(const std::vector<std::string>& dims,
                                 const interp::Setting& setting);

double median(std::vector<double> values);
std::string counted(std::size_t count, const std::string& what);  // "1 step", "2 steps"
std::string text_of(const Report& report);
std::string json_of(const Report& report);

}  // namespace coconet::cli
