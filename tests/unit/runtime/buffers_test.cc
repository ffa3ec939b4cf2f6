#include "coconet/runtime/buffers.h"

#include <gmock/gmock.h>

#include <memory>

namespace coconet::runtime {
namespace {

TEST(Buffers, SymmetricOnesLieAtEqualOffsets) {
  const std::vector<BufferNeed> needs = {{100, true}, {7, false}, {0, true}, {5000, true}};
  const std::vector<Segment> segments =
      make_thread_segments(2, segment_bytes(symmetric_bytes(needs)));
  Communicator first(0, segments, {}, {});
  Communicator second(1, segments, {}, {});
  const Buffers one(first, needs);
  const Buffers two(second, needs);
  for (const std::size_t buffer : {0u, 2u, 3u}) {
    for (const std::size_t rank : {0u, 1u}) {
      auto* address = static_cast<std::byte*>(one.addresses()[buffer * 2 + rank]);
      EXPECT_EQ(address, two.addresses()[buffer * 2 + rank]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 128, 0u);
      EXPECT_EQ(address - segments[rank].data(),
                static_cast<std::byte*>(one.addresses()[buffer * 2]) - segments[0].data());
    }
  }
  EXPECT_EQ(one.own(3).data(), one.addresses()[6]);
  EXPECT_EQ(two.own(3).data(), one.addresses()[7]);
  EXPECT_EQ(two.own(3).size(), 5000u);
  EXPECT_LE(two.own(3).data() + 5000, segments[1].data() + segments[1].data_bytes());
}

TEST(Buffers, PrivateOnesAreTheRanksOwn) {
  const std::vector<BufferNeed> needs = {{64, false}, {64, false}};
  const std::vector<Segment> segments = make_thread_segments(2, segment_bytes(0));
  Communicator second(1, segments, {}, {});
  const Buffers buffers(second, needs);
  EXPECT_EQ(buffers.addresses()[0], nullptr);
  EXPECT_EQ(buffers.addresses()[2], nullptr);
  EXPECT_GE(buffers.own(1).data() - buffers.own(0).data(), 128);
  EXPECT_EQ(buffers.own(0)[63], std::byte{0});
}

TEST(Buffers, TooSmallASegmentIsOurFault) {
  const std::vector<BufferNeed> needs = {{4 << 20, true}};
  const std::vector<Segment> segments = make_thread_segments(1, segment_bytes(0));
  Communicator only(0, segments, {}, {});
  EXPECT_THROW(Buffers(only, needs), InternalError);
}

}  // namespace
}  // namespace coconet::runtime
