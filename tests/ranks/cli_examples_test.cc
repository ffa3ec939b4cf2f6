// Examples on processes under every schedule: the bits of the unscheduled program, and each
// operation within its bound.
#include <gmock/gmock.h>

#include "coconet/schedule/file.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

// `overlapped` ones in several chunks.
void expect_verified_under_every_schedule(const std::string& name,
                                          const std::vector<std::string>& meshes,
                                          const std::string& dims) {
  std::vector<std::string> schedules = {""};
  for (const Schedule& schedule : read_file("examples/" + name + ".coco").schedules) {
    schedules.push_back(" --schedule " + schedule.name);
    if (schedule.name == "overlapped") schedules.back() += " --chunks 3";
  }
  for (const std::string& mesh : meshes) {
    for (const std::string& schedule : schedules) {
      expect_verified("run examples/" + name + ".coco --mesh " + mesh + " --dim " + dims +
                      schedule);
    }
  }
}

TEST(CliExamples, Experts) {
  expect_verified_under_every_schedule("moe", {"ep=1", "ep=3", "ep=4"}, "E=8,C=37,H=5,F=9");
}

TEST(CliExamples, APipeline) {
  expect_verified_under_every_schedule("pipeline", {"pp=2,tp=2", "pp=3,tp=2"}, "B=3,S=5,H=70");
}

TEST(CliExamples, DataByTensorParallelMomentum) {
  expect_verified_under_every_schedule("momentum", {"dp=1,tp=1", "dp=3,tp=2", "dp=2,tp=4"},
                                       "K=70,H=45");
  expect_verified_under_every_schedule("momentum", {"dp=4,tp=2"}, "K=1,H=1");
}

TEST(CliExamples, ASequenceParallelBlock) {
  expect_verified_under_every_schedule("block", {"tp=1", "tp=2", "tp=4"},
                                       "S=13,B=2,H=24,F=20,nh=4,hd=6");
  expect_verified_under_every_schedule("block", {"tp=4"}, "S=2,B=1,H=8,F=3,nh=4,hd=2");
}

// Two sentences on four ranks: slices of the first dim would leave two ranks nothing, so rows of
// both dims are cut; then there are two rows in all, and two ranks have none.
TEST(CliExamples, ATailWithLayerNormOfTwoSentencesOnFourRanks) {
  for (const char* name : {"attention_norm", "mlp_norm"}) {
    for (const char* dims : {"B=2,S=5,H=24", "B=2,S=1,H=24"}) {
      expect_verified_under_every_schedule(name, {"tp=4"}, dims);
    }
  }
}

}  // namespace
}  // namespace coconet::tests
