#include "coconet/runtime/rank_error.h"

#include <gmock/gmock.h>

#include <memory>
#include <system_error>

namespace coconet::runtime {
namespace {

RankError round_trip(const RankError& error) {
  const auto stored = std::make_unique<StoredError>();
  stored->store(error);
  return stored->load();
}

TEST(RankError, KeepsKindMessageAndPlace) {
  const UserError error(ErrorKind::schedule, "cannot fuse", {"a.coco", 3, 7, 4});
  const RankError there = round_trip(rank_error_of(std::make_exception_ptr(error)));
  try {
    there.raise();
  } catch (const UserError& again) {
    EXPECT_EQ(again.kind(), ErrorKind::schedule);
    EXPECT_STREQ(again.what(), error.what());
    EXPECT_EQ(again.where().length, 4);
    return;
  }
  FAIL() << "raised another type";
}

TEST(RankError, CutsLongText) {
  const RankError there = round_trip({false, ErrorKind::data, std::string(100000, 'x'), {}});
  EXPECT_GT(there.message.size(), 1000u);
  EXPECT_TRUE(there.message.ends_with("x..."));
}

TEST(RankError, OtherExceptions) {
  const RankError memory = rank_error_of(std::make_exception_ptr(std::bad_alloc()));
  EXPECT_FALSE(memory.internal);
  EXPECT_EQ(memory.message, "out of memory");
  EXPECT_FALSE(rank_error_of(std::make_exception_ptr(std::length_error("vector"))).internal);
  const std::system_error thread(EAGAIN, std::generic_category());
  const RankError system = rank_error_of(std::make_exception_ptr(thread));
  EXPECT_FALSE(system.internal);
  EXPECT_EQ(system.message,
            "the system refuses: Resource temporarily unavailable, as to a thread where memory or "
            "processes (ulimit -v, -u) are used up");
  EXPECT_TRUE(rank_error_of(std::make_exception_ptr(std::out_of_range("i"))).internal);
  EXPECT_TRUE(rank_error_of(std::make_exception_ptr(3)).internal);
  EXPECT_THROW(rank_error_of(std::make_exception_ptr(InternalError("i"))).raise(), InternalError);
}

}  // namespace
}  // namespace coconet::runtime
