#include "coconet/kernel/cpu/stream.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace coconet::kernel {
namespace {

TEST(StreamCopy, IsMemcpyAtEveryAlignmentAndSize) {
  constexpr int kRoom = 400;
  alignas(64) std::array<unsigned char, kRoom> in, out, want;
  for (int i = 0; i < kRoom; ++i) in[i] = static_cast<unsigned char>(i * 7 + 1);
  for (int to = 0; to < 64; ++to) {
    for (int bytes = 0; bytes <= 260; ++bytes) {
      const int from = (to * 5 + bytes) % 64;
      out.fill(0xee);
      want.fill(0xee);
      std::memcpy(want.data() + to, in.data() + from, static_cast<std::size_t>(bytes));
      stream_copy(out.data() + to, in.data() + from, bytes);
      ASSERT_EQ(out, want) << to << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace coconet::kernel
