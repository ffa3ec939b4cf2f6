#include "coconet/runtime/library_cache.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "coconet/base/error.h"
#include "coconet/runtime/content_hash.h"
#include "tests/support/files.h"

namespace coconet::runtime {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string key_of(int number) { return ContentHash().add(std::to_string(number)).hex(); }

class LibraryCacheTest : public testing::Test {
 protected:
  LibraryCache cache(CacheLimits limits = {}) const {
    return LibraryCache(folder_.path("cache"), limits);
  }
  // A "library" of some 100 KiB, last used so long ago.
  StoredLibrary store(const LibraryCache& cache, int number, hours ago = {}) const {
    std::string note;
    const auto work = cache.work_directory(note);
    EXPECT_EQ(note, "");
    write_file(work->path() / "module.so", std::string(100 << 10, 'a'));
    const StoredLibrary out = cache.store(key_of(number), work->path() / "module.so", work);
    fs::last_write_time(out.path, fs::file_time_type::clock::now() - ago);
    return out;
  }
  // The numbers of the libraries that are there.
  std::vector<int> held() const {
    std::vector<int> out;
    for (int i = 0; i < 10; ++i) {
      if (fs::exists(folder_.path("cache") + "/" + key_of(i) + ".so")) out.push_back(i);
    }
    return out;
  }

  TemporaryFolder folder_;
};

TEST_F(LibraryCacheTest, WhatWasUsedLastStays) {
  const LibraryCache small = cache({.bytes = 350 << 10});
  for (int i = 0; i < 3; ++i) store(small, i, hours(10 - i));
  EXPECT_NE(small.find(key_of(0)).path, "");  // used now
  store(small, 3);
  EXPECT_THAT(held(), testing::ElementsAre(0, 2, 3));
}

TEST_F(LibraryCacheTest, WhatIsInUseStays) {
  const LibraryCache tiny = cache({.bytes = 1});
  const StoredLibrary used = store(tiny, 0, hours(5));
  store(tiny, 1, hours(4));
  StoredLibrary found = tiny.find(key_of(0));
  store(tiny, 2, hours(3));
  EXPECT_THAT(held(), testing::ElementsAre(0, 2));
  found = {};
  store(tiny, 3);
  EXPECT_THAT(held(), testing::ElementsAre(0, 3));
  EXPECT_EQ(tiny.find(key_of(0)).path, used.path);
}

// Opening one to read would wait for a writer.
TEST_F(LibraryCacheTest, APipeOfALibrarysNameIsNone) {
  const LibraryCache small = cache({.bytes = 150 << 10});
  for (const int number : {0, 1}) {
    fs::create_directories(folder_.path("cache"));
    const std::string pipe = folder_.path("cache") + "/" + key_of(number) + ".so";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(small.find(key_of(number)).path, "");
  }
  store(small, 0);  // replaces it
  EXPECT_NE(small.find(key_of(0)).path, "");
  store(small, 2);  // looks at what may go
  EXPECT_NE(small.find(key_of(2)).path, "");
}

TEST_F(LibraryCacheTest, WhatNobodyUsesGoes) {
  store(cache(), 0, hours(24 * 31));
  store(cache(), 1, hours(24 * 29));
  store(cache(), 2);
  EXPECT_THAT(held(), testing::ElementsAre(1, 2));
}

TEST_F(LibraryCacheTest, OtherFilesStay) {
  const LibraryCache tiny = cache({.bytes = 1});
  store(tiny, 0);
  for (const char* name : {"mine.so", "0123456789abcdef0123456789abcdef.txt"}) {
    test::write_text(folder_.path("cache") + "/" + name, "x");
    fs::last_write_time(folder_.path("cache") + "/" + name,
                        fs::file_time_type::clock::now() - hours(24 * 365));
  }
  store(tiny, 1);
  EXPECT_TRUE(fs::exists(folder_.path("cache") + "/mine.so"));
  EXPECT_TRUE(fs::exists(folder_.path("cache") + "/0123456789abcdef0123456789abcdef.txt"));
}

TEST_F(LibraryCacheTest, OneThatIsReplacedWhileInUseCanBeFound) {
  const StoredLibrary first = store(cache(), 0);
  const StoredLibrary second = store(cache({.bytes = 1}), 0);
  EXPECT_EQ(first.path, second.path);
  EXPECT_NE(cache().find(key_of(0)).path, "");
}

// Runs in a process whose folder "disk" is a file system of `kib`; its exit code is the result.
// Nothing where the machine does not allow that.
std::optional<int> on_a_small_disk(const std::string& disk, int kib,
                                   const std::function<int()>& body) {
  constexpr int kNotAllowed = 99;
  fs::create_directories(disk);
  const pid_t process = fork();
  if (process == 0) {
    const std::string size = "size=" + std::to_string(kib) + "k";
    const bool mounted = (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("none", disk.c_str(), "tmpfs", 0, size.c_str()) == 0;
    _exit(mounted ? body() : kNotAllowed);
  }
  int status = 0;
  waitpid(process, &status, 0);
  if (WEXITSTATUS(status) == kNotAllowed) return std::nullopt;
  return WEXITSTATUS(status);
}

TEST_F(LibraryCacheTest, ProcessWithAFullDiskGoesOnWithoutACache) {
  const std::string disk = folder_.path("disk");
  const auto code = on_a_small_disk(disk, 1024, [&] {
    std::string note;
    const auto work = LibraryCache(disk + "/cache").work_directory(note);
    const bool elsewhere = !work->path().string().starts_with(disk);
    const bool told = note.find("No space left on device") != std::string::npos &&
                      note.find(disk + "/cache\" (COCONET_CACHE)") != std::string::npos;
    return elsewhere && told && fs::is_empty(disk + "/cache") ? 0 : 1;
  });
  if (!code) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(*code, 0);
}

TEST_F(LibraryCacheTest, ProcessWithoutAnyRoomIsToldSo) {
  const std::string disk = folder_.path("disk");
  const auto code = on_a_small_disk(disk, 1024, [&] {
    setenv("TMPDIR", disk.c_str(), 1);
    std::string note;
    const std::string text =
        test::user_error_of([&] { LibraryCache(disk + "/cache").work_directory(note); });
    EXPECT_THAT(text, AllOf(HasSubstr("no place to compile in, which takes 4 MiB"),
                            HasSubstr("COCONET_CACHE"), HasSubstr("TMPDIR"),
                            HasSubstr("No space left on device")));
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (!code) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(*code, 0);
}

}  // namespace
}  // namespace coconet::runtime
