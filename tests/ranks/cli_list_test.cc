// Lists of tensors by the tool: sizes, files, verified schedules.
#include <gmock/gmock.h>

#include "coconet/io/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kClip = "run examples/clip.coco ";

TEST(CliList, EverySchedule) {
  const std::string sizes = " --dim N_i=5,1027,0,1,4096 --ranks ";
  for (const char* ranks : {"1", "2", "3", "5", "8"}) {
    expect_verified(kClip + "--schedule sharded" + sizes + ranks);
  }
  expect_verified(kClip + "--schedule reordered --threads" + sizes + "4");
  const std::string lamb = "run examples/lamb_list.coco --scalar t=2 --schedule ";
  for (const char* ranks : {"1", "3", "8"}) expect_verified(lamb + "sharded" + sizes + ranks);
  expect_verified(lamb + "reordered" + sizes + "4");
}

TEST(CliList, OneMemberAndEmptyOnes) {
  for (const char* sizes : {"7", "0", "0,0,1", "1024,2048"}) {
    expect_verified(kClip + "--ranks 3 --schedule sharded --dim N_i=" + sizes);
  }
}

TEST(CliList, MembersGoToAFileAndComeBack) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  const std::string run = kClip + "--ranks 3 --dtype G=f32 ";
  ASSERT_EQ(run_tool(run + "--dim N_i=3,1025,0 --out " + out).exit_code, 0);
  const SafetensorsFile file(out + "/p2.safetensors");
  EXPECT_EQ(file.read("p2.0").shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(file.read("p2.1").shape, std::vector<std::int64_t>{1025});
  EXPECT_EQ(file.read("p2.2").shape, std::vector<std::int64_t>{0});
  // The sizes are the file's.
  const std::string again = run + "--scalar lr=0 --in p=" + out + "/p2.safetensors:p2 --json ";
  const ToolResult result = run_tool(again + "--want p2.1=" + out + "/p2.safetensors");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_at(result.out, "dims/N_i"), "[3,1025,0]");
  EXPECT_EQ(json_at(result.out, "outputs/1/name"), "p2.1");
  EXPECT_EQ(json_at(result.out, "outputs/1/want/within_bound"), "true");
  EXPECT_THAT(run_tool(again + "--dim N_i=3,1025").err, HasSubstr("one number of members"));
  EXPECT_THAT(run_tool(again + "--dim N_i=3,1025,1").err,
              AllOf(HasSubstr("p.2"), HasSubstr("must be 1; found 0")));
}

TEST(CliList, Refusals) {
  EXPECT_THAT(run_tool(kClip + "--ranks 2").err, HasSubstr("give --dim N_i=SIZE,SIZE,..."));
  EXPECT_THAT(run_tool(kClip + "--ranks 2 --dim N_i=3,-1").err, HasSubstr("must not be negative"));
  EXPECT_THAT(run_tool("run examples/sgd.coco --ranks 2 --dim N=3,4").err,
              HasSubstr("N is no dim of a list"));
  EXPECT_THAT(run_tool(kClip + "--ranks 2 --dim N_i=3 --in p=x.npy").err, HasSubstr("p is a list"));
}

}  // namespace
}  // namespace coconet::tests
