// What every C++ example ends with.
#pragma once

#include <cstdio>
#include <string>

#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"

namespace coconet::examples {

// 0 if the graph equals that of the program in the text file, else 1 and both are printed. Run in
// the root of the sources.
inline int same_graph(const Graph& graph, const std::string& path) {
  const Graph text = read_file(path).program();
  std::printf("%s", print(graph, true).c_str());
  if (graph == text) return 0;
  std::printf("\ndiffers from %s:\n%s", path.c_str(), print(text, true).c_str());
  return 1;
}

}  // namespace coconet::examples
