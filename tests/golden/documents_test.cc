// What the documents say was printed is what prints.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "coconet/graph/print.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/source/cpp/from_plan.h"
#include "coconet_paths.h"

namespace coconet {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(std::string(kSourceDir) + "/" + path);
  std::stringstream out;
  out << file.rdbuf();
  EXPECT_FALSE(out.str().empty()) << path;
  return out.str();
}

// The statements of a printed program, without what encloses them.
std::string statements_of(const Graph& graph) {
  const std::string text = print(graph, true);
  const std::size_t begin = text.find(") {\n") + 4;
  return text.substr(begin, text.rfind('}') - begin);
}

TEST(Documents, TransformationsShowsEverySchedule) {
  const std::string document = text_of_file("docs/transformations.md");
  const File file = read_file(std::string(kSourceDir) + "/docs/transformations.coco");
  ASSERT_FALSE(file.schedules.empty());
  for (const Schedule& schedule : file.schedules) {
    const std::string shown = statements_of(apply(file.program(schedule.program), schedule).graph);
    EXPECT_NE(document.find("```\n" + shown + "```\n"), std::string::npos)
        << schedule.program << " " << schedule.name << "\n"
        << shown;
  }
}

// README.md, without the indentation that the body has inside its function.
TEST(Documents, ReadmeShowsTheBodyOfShardedAdam) {
  const std::string document = text_of_file("README.md");
  const std::string heading = "```cpp\nfold_peers";
  const std::size_t begin = document.find(heading);
  ASSERT_NE(begin, std::string::npos);
  std::istringstream block(document.substr(begin + 7, document.find("```", begin + 7) - begin - 7));
  std::string body;
  for (std::string line; std::getline(block, line);) body += "    " + line + "\n";
  const File file = read_file(std::string(kSourceDir) + "/examples/adam.coco");
  const Graph sharded = apply(file.program(), file.schedule("adam", "sharded")).graph;
  const std::string source = source::cpp::from_plan(plan::from_schedule(sharded));
  EXPECT_NE(source.find(body), std::string::npos) << body << "\nis not in\n" << source;
}

}  // namespace
}  // namespace coconet
