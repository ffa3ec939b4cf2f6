// Compiled libraries on disk by key. A stored file ends with a hash of its key and itself, so that
// damage, or another's place, is found before it is loaded; files of other users are not trusted.
//
// The cache is bounded: storing removes the libraries that were not used for longest, but none that
// a process is using.
//
// Thread-safety and processes: any number may use one cache; files appear whole, by rename, and who
// uses one holds a shared lock (flock) on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "coconet/runtime/temporary_directory.h"

namespace coconet::runtime {

struct CacheLimits {
  std::uintmax_t bytes = std::uintmax_t{256} << 20;  // of all libraries: some 6,000
  std::chrono::hours unused = std::chrono::hours(30 * 24);
};

struct StoredLibrary {
  std::filesystem::path path;         // "": there is none
  std::shared_ptr<const void> owner;  // while it lives the library stays where it is
};

class LibraryCache {
 public:
  // $COCONET_CACHE, else $XDG_CACHE_HOME/coconet, else $HOME/.cache/coconet, else "".
  static std::filesystem::path default_directory();

  // "": no cache.
  explicit LibraryCache(std::filesystem::path directory, CacheLimits limits = {})
      : directory_(std::move(directory)), limits_(limits) {}

  // Nothing if it is not there, damaged, another key's, another user's or no regular file.
  StoredLibrary find(const std::string& key) const;

  // A directory to compile in, on the cache's file system; in the system's temporary directory if
  // the cache cannot be written or its disk is full, then `note` says why. UserError(runtime) if
  // neither can be. Removes abandoned ones of the cache.
  std::shared_ptr<TemporaryDirectory> work_directory(std::string& note) const;

  // Moves the library that was made in `work` into the cache; where that is impossible leaves it
  // there.
  StoredLibrary store(const std::string& key, const std::filesystem::path& library,
                      const std::shared_ptr<TemporaryDirectory>& work) const;

 private:
  std::filesystem::path path_of(const std::string& key) const { return directory_ / (key + ".so"); }
  void shrink() const;

  std::filesystem::path directory_;
  CacheLimits limits_;
};

// "" if a few megabytes can be written there, else why not.
std::string lack_of_room(const std::filesystem::path& directory);

// The whole file; throws UserError(runtime) if it cannot be read.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace coconet::runtime
