// A rank's segment: memory that every rank of the node has mapped. It begins with a header (the
// rank's progress, entry records, failure) and goes on with data that the plan lays out.
//
// Between processes a segment is a memfd, sealed against a change of its size; it is gone with the
// last process that maps it, however that process ends. Ranks that are threads share one anonymous
// mapping, so each segment has one address.
//
// What is in a header is written by its own rank only; messages are written by their senders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coconet/kernel/call.h"
#include "coconet/runtime/exchange.h"
#include "coconet/runtime/file_descriptor.h"
#include "coconet/runtime/rank_error.h"

namespace coconet::runtime {

enum class RankState : std::uint32_t {
  running = 0,
  left = 1,     // its function has returned; makes no more progress
  failed = 2,   // by its own fault; `error` is valid
  stopped = 3,  // because of another rank
};

// What a rank says on entering a call (or a barrier).
struct EntryRecord {
  std::uint64_t operation;  // 0: call, 1: barrier
  std::uint64_t number;     // of the call or barrier, counted apart
  std::uint64_t base;       // the progress that publishes this record
  std::uint64_t plan_hash;
  std::uint64_t inputs_hash;  // of the replicated inputs; 0: not checked
};

// What most peers need of an entry.
struct EntryMark {
  std::uint64_t digest;  // of the record: equal ones are the same entry
  std::uint64_t stream;  // of rank 0: Call::stream of all ranks
};

struct SegmentHeader {
  // Peers poll it; in its line stands only what they read next, published by the same progress.
  alignas(128) kernel::Counter progress;
  EntryMark mark[2];  // of entry[0] and entry[1]
  // entry[i % 2] of the rank's i-th entry is published by the progress that says "has entered". A
  // rank enters again only when all have entered, thus have read the entry before the last.
  alignas(128) EntryRecord entry[2];
  alignas(128) std::atomic<RankState> state;
  std::atomic<std::int32_t> awaited;  // 1 + the rank that this one has waited for a while; 0: none
  StoredError error;
};

inline constexpr std::size_t kMessagesOffset = 4096;
inline constexpr std::size_t kDataOffset = 49152;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
static_assert(sizeof(SegmentHeader) <= kMessagesOffset);
static_assert(kMessagesOffset + 2 * kMostSenders * sizeof(PackedMessage) <= kDataOffset);
static_assert(kDataOffset % 4096 == 0);

// Bytes of a segment with room for `data_bytes`: header included, a multiple of 2 MiB.
std::size_t segment_bytes(std::size_t data_bytes);

// A mapped segment. Its memory is zero when made.
class Segment {
 public:
  Segment(std::byte* base, std::size_t bytes, std::shared_ptr<void> memory)
      : base_(base), bytes_(bytes), memory_(std::move(memory)) {}

  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }
  // From `sender` with its i-th entry, `slot` being i % 2 as of EntryRecords.
  PackedMessage& message(int slot, int sender) const {
    return reinterpret_cast<PackedMessage*>(base_ + kMessagesOffset)[slot * kMostSenders + sender];
  }
  std::byte* data() const { return base_ + kDataOffset; }  // 4096-byte aligned
  std::size_t data_bytes() const { return bytes_ - kDataOffset; }

 private:
  std::byte* base_;
  std::size_t bytes_;
  std::shared_ptr<void> memory_;  // unmaps
};

// Memory of this process alone, zero, at a 2 MiB boundary. UserError if there is not enough.
std::shared_ptr<void> map_private(std::size_t bytes);

// Whether memory that processes share has huge pages where it asks for them: the system's setting
// (/sys/kernel/mm/transparent_hugepage/shmem_enabled), "never" on most; "advise" is enough.
bool has_shared_huge_pages();

// A sealed memfd of `bytes` (a multiple of 2 MiB), its pages reserved, huge ones where there are
// any. UserError when there is not enough memory.
FileDescriptor make_segment_file(std::size_t bytes);

// Maps the segment that make_segment_file made, here or in another process. UserError if it is not
// sealed or has another size.
Segment map_segment(const FileDescriptor& file, std::size_t bytes);

// Segments of ranks that are threads of this process.
std::vector<Segment> make_thread_segments(int ranks, std::size_t bytes);

}  // namespace coconet::runtime
