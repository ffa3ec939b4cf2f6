// Compiled libraries on disk by key. A stored file ends with a hash of itself, so damage is found
// before it is loaded; files of other users are not trusted.
//
// Thread-safety and processes: any number may use one cache; files appear whole, by rename.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace coconet::runtime {

// A directory that is removed with all in it when the last owner goes.
class TemporaryDirectory {
 public:
  // Named <parent>/coconet-XXXXXX. Throws std::filesystem::filesystem_error.
  explicit TemporaryDirectory(const std::filesystem::path& parent);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }
  void keep() { keep_ = true; }

 private:
  std::filesystem::path path_;
  bool keep_ = false;
};

class LibraryCache {
 public:
  // $COCONET_CACHE, else $XDG_CACHE_HOME/coconet, else $HOME/.cache/coconet, else "".
  static std::filesystem::path default_directory();

  explicit LibraryCache(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // The library's path, or "" if it is not there, damaged or another user's.
  std::filesystem::path find(const std::string& key) const;

  // A directory to compile in, on the cache's file system; in the system's temporary directory if
  // the cache cannot be written. Removes those of the cache that are older than a day.
  std::shared_ptr<TemporaryDirectory> work_directory() const;

  // Moves the library that was made in `work` into the cache; where that is impossible leaves it.
  // Returns where it is.
  std::filesystem::path store(const std::string& key, const std::filesystem::path& library) const;

 private:
  std::filesystem::path path_of(const std::string& key) const { return directory_ / (key + ".so"); }

  std::filesystem::path directory_;  // "": no cache
};

// The whole file; throws UserError(runtime) if it cannot be read.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace coconet::runtime
