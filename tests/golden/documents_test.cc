// What the documents say was printed is what prints.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/source/cpp/from_plan.h"
#include "coconet/type/piece.h"
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

void expect_transformations_show(const File& file, const Schedule& schedule) {
  const std::string document = text_of_file("docs/transformations.md");
  const std::string shown = statements_of(apply(file.program(schedule.program), schedule).graph);
  EXPECT_NE(document.find("```\n" + shown + "```\n"), std::string::npos)
      << schedule.program << " " << schedule.name << "\n"
      << shown;
}

TEST(Documents, TransformationsShowsEverySchedule) {
  const File file = read_file(std::string(kSourceDir) + "/docs/transformations.coco");
  ASSERT_FALSE(file.schedules.empty());
  for (const Schedule& schedule : file.schedules) expect_transformations_show(file, schedule);
  const File stages = read_file(std::string(kSourceDir) + "/examples/pipeline.coco");
  expect_transformations_show(stages, stages.schedule("pipeline", "overlapped"));
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

// The blocks of a document that begin with ```tag.
std::vector<std::string> blocks_of(const std::string& document, const std::string& tag) {
  std::vector<std::string> out;
  const std::string opening = "\n```" + tag + "\n";
  for (std::size_t at = document.find(opening); at != std::string::npos;
       at = document.find(opening, at)) {
    at += opening.size();
    out.push_back(document.substr(at, document.find("```", at) - at));
  }
  return out;
}

TEST(Documents, LanguageShowsFilesThatAreAccepted) {
  const std::vector<std::string> files = blocks_of(text_of_file("docs/language.md"), "coco");
  ASSERT_FALSE(files.empty());
  for (const std::string& text : files) {
    SCOPED_TRACE(text);
    File file;
    ASSERT_NO_THROW(file = parse_file(text, "language.md"));
    for (const Schedule& schedule : file.schedules) {
      EXPECT_NO_THROW(apply(file.program(schedule.program), schedule));
    }
  }
}

TEST(Documents, LanguageShowsFilesThatAreRefused) {
  const std::vector<std::string> files = blocks_of(text_of_file("docs/language.md"), "refused");
  ASSERT_FALSE(files.empty());
  for (const std::string& text : files) {
    // One error, so that nothing else in the file is wrong.
    try {
      parse_file(text, "language.md");
      ADD_FAILURE() << "accepted:\n" << text;
    } catch (const UserErrors& errors) {
      EXPECT_EQ(errors.errors().size(), 1u) << errors.what();
      EXPECT_NE(errors.errors()[0].kind(), ErrorKind::syntax) << errors.what();
    }
  }
}

// "0..4 7": elements of the flat index, runs of three and more by their ends.
std::string held_by(const Piece& piece) {
  std::string out;
  for (std::int64_t i = 0, end = 0; i < piece.count(); i = end) {
    const std::int64_t first = piece.global(i);
    for (end = i + 1; end < piece.count() && piece.global(end) == first + end - i;) ++end;
    if (end - i < 3) end = i + 1;
    out += " " + std::to_string(first);
    if (end - i >= 3) out += ".." + std::to_string(first + end - i - 1);
  }
  return out.empty() ? " nothing" : out;
}

// The lines under `type on NAME(axis=ranks, ...), dim=size ...`: what each rank holds.
std::string layout_of(const std::string& heading) {
  const std::size_t on = heading.find(" on "), open = heading.find('(', on);
  const std::string mesh_name = heading.substr(on + 4, open - on - 4);
  std::vector<std::string> axes;
  MeshSizes mesh;
  Sizes sizes;
  std::string dims;
  const std::regex binding("([A-Za-z]+)=([0-9]+)");
  const std::size_t close = heading.find(')', open);
  for (std::sregex_iterator it(heading.begin() + open, heading.end(), binding), end; it != end;
       ++it) {
    if (open + it->position() < close) {
      axes.push_back((*it)[1]);
      mesh.sizes.push_back(std::stoi((*it)[2]));
    } else {
      sizes[(*it)[1]] = std::stoi((*it)[2]);
      dims += (dims.empty() ? "" : ", ") + (*it)[1].str();
    }
  }
  std::string names;
  for (const std::string& axis : axes) names += (names.empty() ? "" : ", ") + axis;
  const Graph graph =
      parse_program("mesh " + mesh_name + "(" + names + ")\ndim " + dims +
                    "\nprogram p(x: " + heading.substr(0, on) + ") {\n  return x\n}\n");
  const TensorType& type = graph.node(graph.find("x")).type;
  std::vector<std::int64_t> shape;
  for (const Dim& dim : type.shape) shape.push_back(dim.bind(sizes));
  std::string out = heading + "\n";
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const std::vector<int> at = mesh.coordinates(rank);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      out += (axis == 0 ? "" : ", ") + axes[axis] + " " + std::to_string(at[axis]);
    }
    out += ":" + held_by(Piece(shape, type.layout, mesh, at)) + "\n";
  }
  return out;
}

TEST(Documents, LayoutsShowsWhatEachRankHolds) {
  const std::vector<std::string> shown = blocks_of(text_of_file("docs/layouts.md"), "layout");
  ASSERT_FALSE(shown.empty());
  for (const std::string& block : shown) {
    EXPECT_EQ(block, layout_of(block.substr(0, block.find('\n'))));
  }
}

TEST(Documents, LayoutsShowsTypesThatAreRefused) {
  const std::string document = text_of_file("docs/layouts.md");
  for (const std::string& text : blocks_of(document, "coco")) EXPECT_NO_THROW(parse_file(text));
  for (const std::string& text : blocks_of(document, "refused")) {
    EXPECT_THROW(parse_file(text), UserErrors) << text;
  }
}

TEST(Documents, LanguageShowsTheCollectivesOfReductions) {
  const std::string document = text_of_file("docs/language.md");
  const File file = read_file(std::string(kSourceDir) + "/docs/language.coco");
  std::istringstream printed(statements_of(file.program()));
  std::string shown;
  for (std::string line; std::getline(printed, line);) {
    if (!line.starts_with("  return")) shown += line.substr(2) + "\n";
  }
  EXPECT_NE(document.find("```\n" + shown + "```\n"), std::string::npos) << shown;
}

}  // namespace
}  // namespace coconet
