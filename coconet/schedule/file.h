// A whole `*.coco` file: declarations, programs, schedules, choices among them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coconet/graph/graph.h"
#include "coconet/program/read.h"
#include "coconet/schedule/choice.h"
#include "coconet/schedule/step.h"

namespace coconet {

struct File {
  std::vector<Graph> programs;
  std::vector<Schedule> schedules;
  std::vector<Choice> choices;
  std::vector<std::string> dtypes;  // the parameters that the file declares

  // UserError(usage) that says which there are, if there is none of the name. An empty name: the
  // only program of the file.
  const Graph& program(std::string_view name = "") const;
  const Schedule& schedule(std::string_view program, std::string_view name) const;
  const Choice* choice(std::string_view program, std::string_view name) const;  // or null
};

// UserErrors with every error in the text, in the order of their places (program/report.h shows
// them). `file_name` stands in the places. Any bytes are safe.
File parse_file(std::string_view text, const std::string& file_name = "",
                const ReadOptions& options = {});
// The same of the file at `path`; *text, if given, is what was read, whatever is thrown.
// UserError(data) if it cannot be read.
File read_file(const std::string& path, std::string* text = nullptr);

// The text of one program, or of one schedule alone.
Graph parse_program(std::string_view text, const std::string& file_name = "");
Schedule parse_schedule(std::string_view text, const std::string& file_name = "");

}  // namespace coconet
