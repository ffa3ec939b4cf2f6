// The printed form of every example, unscheduled and after each of its schedules; and what is
// printed parses back to an equal graph.
#include <gtest/gtest.h>

#include "coconet/graph/print.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet_paths.h"
#include "tests/support/golden.h"

namespace coconet {
namespace {

class Examples : public testing::TestWithParam<const char*> {
 protected:
  std::string name() const { return GetParam(); }
  File file() const { return read_file(std::string(kSourceDir) + "/examples/" + name() + ".coco"); }
};

TEST_P(Examples, PrintAsKept) {
  const File examples = file();
  ASSERT_EQ(examples.programs.size(), 1u);
  expect_golden("examples/" + name() + ".coco", print(examples.programs[0], true));
}

TEST_P(Examples, PrintAsKeptAfterEachSchedule) {
  const File examples = file();
  for (const Schedule& schedule : examples.schedules) {
    const Applied applied = apply(examples.program(schedule.program), schedule);
    expect_golden("examples/" + name() + "." + schedule.name + ".coco",
                  text_of(schedule) + "\n" + print(applied.graph, true));
  }
}

TEST_P(Examples, ParseBack) {
  const File examples = file();
  const Graph& program = examples.programs[0];
  EXPECT_EQ(print(parse_program(print(program))), print(program));
  EXPECT_TRUE(parse_program(print(program, true)) == program);
  for (const Schedule& schedule : examples.schedules) {
    EXPECT_TRUE(parse_schedule(text_of(schedule)) == schedule) << text_of(schedule);
    const Graph scheduled = apply(program, schedule).graph;
    const std::string text = print(scheduled);
    const Graph parsed = parse_program(text);
    EXPECT_TRUE(parsed == scheduled) << text << "\nparsed back as\n" << print(parsed);
  }
}

TEST_P(Examples, AreShort) {
  // The program proper, of 20 lines at most.
  const File examples = file();
  int statements = 0;
  for (const Node& node : examples.programs[0].nodes()) {
    const bool input = std::holds_alternative<Input>(node.op);
    statements += !input && !node.name.empty() ? 1 : 0;
  }
  EXPECT_LE(statements, 17);
}

INSTANTIATE_TEST_SUITE_P(All, Examples,
                         testing::Values("sgd", "adam", "lamb", "clip", "lamb_list", "attention",
                                         "mlp", "attention_norm", "mlp_norm", "block", "momentum",
                                         "pipeline", "moe"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coconet
