// Temporary folders and files of tests, and what user errors say.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coconet::test {

// A new empty folder, removed with all that is in it on destruction.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  // Names of what it holds, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path folder_;
};

std::span<const std::byte> bytes_of(std::string_view text);
void write_text(const std::string& path, std::string_view text);
std::string read_text(const std::string& path);

// The message of the UserError that `action` throws; "" (and a failed expectation) if it throws
// none.
std::string user_error_of(const std::function<void()>& action);

}  // namespace coconet::test
