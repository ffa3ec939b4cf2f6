#include "coconet/runtime/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "coconet/base/error.h"

namespace coconet::runtime {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Mapping {
  std::byte* base;
  std::shared_ptr<void> memory;
};

// Maps `bytes` at a 2 MiB boundary, so that the kernel may use huge pages.
Mapping map_aligned(std::size_t bytes, int file, int flags) {
  void* room = mmap(nullptr, bytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw_system_error("cannot map " + std::to_string(bytes) + " bytes");
  const auto address = reinterpret_cast<std::uintptr_t>(room);
  const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
  auto* base = static_cast<std::byte*>(room) + before;
  if (before > 0) munmap(room, before);
  munmap(base + bytes, kHugePage - before);
  if (mmap(base, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(base, bytes);
    throw_system_error("cannot map " + std::to_string(bytes) + " bytes", error);
  }
  madvise(base, bytes, MADV_HUGEPAGE);
  return {base, std::shared_ptr<void>(base, [bytes](void* p) { munmap(p, bytes); })};
}

// Where huge pages are given to those that ask, only a mapping can ask; to reserve them by the file
// gives small ones. What is not to be had so is reserved by the file.
void touch(const FileDescriptor& file, std::size_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which systems before 5.14 refuse
  const Mapping mapping = map_aligned(bytes, file.number(), MAP_SHARED);
  madvise(mapping.base, bytes, kPopulateWrite);
}

}  // namespace

std::size_t segment_bytes(std::size_t data_bytes) {
  return (data_bytes + kDataOffset + kHugePage - 1) / kHugePage * kHugePage;
}

std::shared_ptr<void> map_private(std::size_t bytes) {
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  return map_aligned(whole, -1, MAP_PRIVATE | MAP_ANONYMOUS).memory;
}

bool has_shared_huge_pages() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const std::string settings{std::istreambuf_iterator<char>(in), {}};
  const std::size_t chosen = settings.find('[');
  return chosen != settings.npos && settings.compare(chosen, 7, "[never]") != 0 &&
         settings.compare(chosen, 6, "[deny]") != 0;
}

FileDescriptor make_segment_file(std::size_t bytes) {
  check(bytes % kHugePage == 0, "a segment is a multiple of 2 MiB");
  FileDescriptor file(memfd_create("coconet-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.open()) throw_system_error("cannot make the rank's shared memory");
  // Reserved now: a lack of memory is an error here and not a SIGBUS at the first write.
  const std::string what = "cannot reserve " + std::to_string(bytes) + " bytes of shared memory";
  if (ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) throw_system_error(what);
  if (has_shared_huge_pages()) touch(file, bytes);
  int error = EINTR;  // as of a process that was stopped meanwhile
  while (error == EINTR) error = posix_fallocate(file.number(), 0, static_cast<off_t>(bytes));
  if (error != 0) throw_system_error(what, error);
  if (fcntl(file.number(), F_ADD_SEALS, kSeals) != 0) {
    throw_system_error("cannot seal the rank's shared memory");
  }
  return file;
}

Segment map_segment(const FileDescriptor& file, std::size_t bytes) {
  struct stat status {};
  if (fstat(file.number(), &status) != 0) throw_system_error("cannot read a segment's size");
  const int seals = fcntl(file.number(), F_GET_SEALS);
  if (status.st_size != static_cast<off_t>(bytes) || (seals & kSeals) != kSeals) {
    throw UserError(ErrorKind::runtime,
                    "a peer offered a segment of " + std::to_string(status.st_size) +
                        " bytes with seals " + std::to_string(seals) + "; needed is one of " +
                        std::to_string(bytes) + " bytes, sealed against a change of size");
  }
  Mapping mapping = map_aligned(bytes, file.number(), MAP_SHARED);
  return {mapping.base, bytes, std::move(mapping.memory)};
}

std::vector<Segment> make_thread_segments(int ranks, std::size_t bytes) {
  check(bytes % kHugePage == 0, "a segment is a multiple of 2 MiB");
  const std::size_t total = bytes * static_cast<std::size_t>(ranks);
  // Private memory has huge pages where shared memory has none.
  const Mapping mapping = map_aligned(total, -1, MAP_PRIVATE | MAP_ANONYMOUS);
  std::vector<Segment> out;
  for (int rank = 0; rank < ranks; ++rank) {
    out.emplace_back(mapping.base + bytes * static_cast<std::size_t>(rank), bytes, mapping.memory);
  }
  return out;
}

}  // namespace coconet::runtime
