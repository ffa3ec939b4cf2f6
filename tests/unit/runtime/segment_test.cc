#include "coconet/runtime/segment.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace coconet::runtime {
namespace {

TEST(Segment, SizesAreWholeHugePagesWithTheHeader) {
  EXPECT_EQ(segment_bytes(0), kHugePage);
  EXPECT_EQ(segment_bytes(kHugePage - kDataOffset), kHugePage);
  EXPECT_EQ(segment_bytes(kHugePage - kDataOffset + 1), 2 * kHugePage);
}

TEST(Segment, TwoMappingsAreOneMemory) {
  const FileDescriptor file = make_segment_file(kHugePage);
  const Segment one = map_segment(file, kHugePage);
  const Segment two = map_segment(file, kHugePage);
  EXPECT_NE(one.data(), two.data());
  EXPECT_EQ(one.data_bytes(), kHugePage - kDataOffset);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.data()) % 4096, 0u);
  one.data()[5] = std::byte{42};
  one.header().progress.store(7);
  EXPECT_EQ(two.data()[5], std::byte{42});
  EXPECT_EQ(two.header().progress.load(), 7u);
  EXPECT_EQ(two.header().state.load(), RankState::running);
}

// Of the mapping that `address` is in, a line of /proc/self/smaps: kilobytes.
long kilobytes_of(const std::byte* address, const std::string& what) {
  std::ifstream in("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(in, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      here = begin <= at && at < end;
    } else if (here && line.starts_with(what + ":")) {
      return std::strtol(line.c_str() + what.size() + 1, nullptr, 10);
    }
  }
  return -1;
}

TEST(Segment, HasHugePagesWhereTheSystemGivesThem) {
  if (!has_shared_huge_pages()) {
    GTEST_SKIP() << "needs 2 MiB pages in shared memory: `advise` in "
                    "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  }
  const FileDescriptor file = make_segment_file(4 * kHugePage);
  const Segment segment = map_segment(file, 4 * kHugePage);
  for (std::size_t i = 0; i < segment.data_bytes(); i += 4096) segment.data()[i] = std::byte{1};
  EXPECT_GT(kilobytes_of(segment.data(), "ShmemPmdMapped"), 0);
}

TEST(Segment, SizeIsSealed) {
  const FileDescriptor file = make_segment_file(kHugePage);
  EXPECT_NE(ftruncate(file.number(), 0), 0);
  EXPECT_NE(ftruncate(file.number(), 2 * kHugePage), 0);
}

TEST(Segment, AnotherSizeOrNoSealIsRefused) {
  const FileDescriptor file = make_segment_file(kHugePage);
  EXPECT_THROW(map_segment(file, 2 * kHugePage), UserError);
  const FileDescriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.number(), kHugePage), 0);
  EXPECT_THROW(map_segment(unsealed, kHugePage), UserError);
}

TEST(Segment, TooMuchMemoryIsAUserError) {
  EXPECT_THROW(make_thread_segments(4, std::size_t{1} << 46), UserError);
}

TEST(Segment, ThreadSegmentsStandApart) {
  const std::vector<Segment> all = make_thread_segments(3, kHugePage);
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    all[i].data()[all[i].data_bytes() - 1] = std::byte{1};
    EXPECT_EQ(all[i].header().progress.load(), 0u);
  }
}

}  // namespace
}  // namespace coconet::runtime
