// What every C++ example ends with.
#pragma once

#include <cstdio>
#include <string>

#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"

namespace coconet::examples {

// Prints the program and the schedule. 0 if they equal those of their names in the text file, else
// 1, and what the file has is printed too. Run in the root of the sources.
inline int same_as(const std::string& path, const Graph& graph, const Schedule& schedule) {
  const File file = read_file(path);
  const Graph& program = file.program(graph.header().program);
  const Schedule& steps = file.schedule(schedule.program, schedule.name);
  std::printf("%s\n%s", print(graph, true).c_str(), text_of(schedule).c_str());
  if (graph == program && schedule == steps) return 0;
  std::printf("\ndiffers from %s:\n%s\n%s", path.c_str(), print(program, true).c_str(),
              text_of(steps).c_str());
  return 1;
}

}  // namespace coconet::examples
