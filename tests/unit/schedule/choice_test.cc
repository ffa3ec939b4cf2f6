// Choices among schedules: read, printed, picked by sizes, refused.
#include "coconet/schedule/choice.h"

#include <gmock/gmock.h>

#include "coconet/schedule/file.h"
#include "tests/support/files.h"

namespace coconet {
namespace {

using test::user_error_of;
using testing::HasSubstr;

const std::string kProgram =
    "mesh world(dp)\ndim N, M\nprogram sum(x: f32[N,M] local) {\n  y = all_reduce(x, +)\n"
    "  return y\n}\n"
    "schedule halves for sum {\n  rs, ag = split(y)\n}\n";

File with(const std::string& cases, const std::string& name = "tuned") {
  return parse_file(kProgram + "choice " + name + " for sum {\n" + cases + "\n}\n");
}

std::string error_of(const std::string& cases, const std::string& name = "tuned") {
  try {
    with(cases, name);
  } catch (const UserErrors& errors) {
    return errors.errors().front().message();
  }
  return "";
}

const std::string kCases =
    "  N <= 64: unscheduled one_shot\n  M <= 8: halves chunks(4,2) direct threads(2)\n  else: "
    "halves";

TEST(Choice, TheFirstCaseThatHoldsIsPicked) {
  const File file = with(kCases);
  const Choice* choice = file.choice("sum", "tuned");
  ASSERT_NE(choice, nullptr);
  const auto picked = [&](std::int64_t n, std::int64_t m) {
    return &pick(*choice, {{"N", n}, {"M", m}}) - choice->cases.data();
  };
  EXPECT_EQ(picked(64, 100), 0);
  EXPECT_EQ(picked(65, 8), 1);
  EXPECT_EQ(picked(65, 9), 2);
  EXPECT_EQ(picked(0, 0), 0);
  EXPECT_EQ(choice->cases[0].schedule, "");
  EXPECT_EQ(choice->cases[0].knobs, (Knobs{{}, true}));
  EXPECT_EQ(choice->cases[1].knobs, (Knobs{{4, 2}, false, 2}));
  EXPECT_EQ(choice->cases[2].knobs, Knobs());
  EXPECT_EQ(file.choice("sum", "halves"), nullptr);
}

TEST(Choice, ItsTextParsesBack) {
  const Choice choice = *with(kCases).choice("sum", "tuned");
  EXPECT_EQ(text_of(choice), "choice tuned for sum {\n" + kCases + "\n}\n");
  EXPECT_EQ(*parse_file(kProgram + text_of(choice)).choice("sum", "tuned"), choice);
}

TEST(Choice, ADimWithoutASizeIsRefused) {
  const Choice choice = *with(kCases).choice("sum", "tuned");
  EXPECT_THAT(user_error_of([&] {
                pick(choice, {{"M", 8}});
              }),
              HasSubstr("the dim N has no size; "));
}

TEST(Choice, OfAListAllMembersCountTogether) {
  const Choice choice{"c", "p", {{"N_i", 10, "small", {}}, {"", 0, "large", {}}}};
  Sizes sizes;
  sizes.lists["N_i"] = {4, 6};
  EXPECT_EQ(pick(choice, sizes).schedule, "small");
  sizes.lists["N_i"] = {4, 7};
  EXPECT_EQ(pick(choice, sizes).schedule, "large");
}

TEST(Choice, MistakesAreRefusedWithWhatIsNeeded) {
  EXPECT_THAT(error_of("  N <= 64: halve\n  else: halves"),
              HasSubstr("`halve` is not a schedule for sum; did you mean `halves`?"));
  EXPECT_THAT(error_of("  K <= 64: halves\n  else: halves"), HasSubstr("`K` is no dim of sum"));
  EXPECT_THAT(error_of("  N <= 64: halves"), HasSubstr("a choice ends with `else: SCHEDULE`"));
  EXPECT_THAT(error_of("  else: halves\n  N <= 64: halves"),
              HasSubstr("`else` is the last case of a choice"));
  EXPECT_THAT(error_of("  N < 64: halves\n  else: halves"), HasSubstr("`<=`"));
  EXPECT_THAT(error_of("  N <= M: halves\n  else: halves"),
              HasSubstr("the largest size of the case"));
  EXPECT_THAT(error_of("  else: halves direct one_shot"), HasSubstr("a case has one protocol"));
  EXPECT_THAT(error_of("  else: halves chunks(1) chunks(2)"), HasSubstr("`chunks` once"));
  EXPECT_THAT(error_of("  else: halves threads(1) threads(1)"), HasSubstr("`threads` once"));
  EXPECT_THAT(error_of("  else: halves threads(0)"), HasSubstr("from 1 to 1024 threads; found 0"));
  EXPECT_THAT(error_of("  else: halves", "halves"),
              HasSubstr("the choice halves for sum has the name of a schedule"));
  EXPECT_THAT(error_of("  else: halves", "unscheduled"), HasSubstr("cannot be called unscheduled"));
  EXPECT_THAT(error_of("  else: halves fast"),
              HasSubstr("found `fast` behind a case; there are the knobs chunks(N,M), one_shot"));
  EXPECT_THAT(error_of("  N <= 64: halves\n  N <= 20: halves\n  else: halves"),
              HasSubstr("no size comes to this case, as one before it has N <= 64"));
  EXPECT_THAT(error_of("  else halves"), HasSubstr("before the schedule of a case"));
  EXPECT_THAT(user_error_of([] { with(kCases).schedule("sum", "tunde"); }),
              HasSubstr("did you mean `tuned`?"));
  EXPECT_THAT(user_error_of([] { with(kCases).schedule("sum", "tuned"); }),
              HasSubstr("`tuned` is a choice among schedules, for run and build; needed is one"));
}

}  // namespace
}  // namespace coconet
