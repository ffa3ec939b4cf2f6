// Compiles generated source to a shared library with the system's C++ compiler, and remembers the
// results on disk.
//
// A library is found again by everything that decides its content: the source, the kernel headers,
// the flags, the compiler's version and the CPU features that -march=native means here.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coconet/runtime/library_cache.h"
#include "coconet/runtime/temporary_directory.h"

namespace coconet::runtime {

struct ToolchainOptions {
  std::string compiler;               // words; "": $CXX, the compiler of this build, g++, clang++
  std::filesystem::path include_dir;  // holds coconet/kernel; "": $COCONET_INCLUDE, the sources
  std::filesystem::path cache_dir;    // "": see LibraryCache::default_directory
  CacheLimits cache_limits = {};
};

// A library, there as long as this object or a copy of it is.
struct CompiledLibrary {
  std::filesystem::path path;
  bool from_cache = false;
  double milliseconds = 0;            // that compile() took
  std::shared_ptr<const void> owner;  // of the path
  std::string note;                   // why it is not in the cache; "" if it is
};

// Thread-safe: several sources may be compiled at once.
class Toolchain {
 public:
  // Asks the compiler for its version and CPU features. UserError(runtime) if there is none that
  // works, or no kernel headers.
  explicit Toolchain(const ToolchainOptions& options = {});

  // InternalError with the compiler's text and the path of the kept source, if the source does not
  // compile; UserError(runtime) if the compiler was killed, or nothing can be written. What the
  // compiler has started and written ends with this process, however that ends.
  CompiledLibrary compile(const std::string& source) const;

  // The same of several sources together with what they need of CoCoNet (libcoconet.a), to a
  // library at `path`, without the cache: it exports what the sources say is visible.
  // UserError(runtime) if libcoconet.a is not there.
  void build_library(const std::vector<std::string>& sources,
                     const std::filesystem::path& path) const;
  // A hash of all that decides what a library holds, but for its source.
  const std::string& identity() const { return identity_; }
  // The command that compiles, without its files.
  std::string command_text() const;

 private:
  // The library, in the directory.
  std::filesystem::path compile_in(TemporaryDirectory& work, const std::string& source) const;

  std::vector<std::string> command_;  // compiler and flags
  std::string identity_;              // hash of all but the source
  LibraryCache cache_;
};

}  // namespace coconet::runtime
