// Where a tensor file's bytes come from: a file on disk, or memory (tests, fuzzers). The format
// readers see only this, so that each has one text for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace coconet {

// Positioned reads; no state moves, so one source may be read by several threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The name errors give: the path as the user wrote it.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }

  // Fills `out` with the bytes at `offset`. Requires: they lie inside size(). Throws UserError
  // (data) if the disk does not deliver them.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  std::string read_text(std::uint64_t offset, std::uint64_t length) const;

 protected:
  ByteSource(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}

 private:
  virtual void fill(std::uint64_t offset, std::span<std::byte> out) const = 0;

  std::string name_;
  std::uint64_t size_;
};

// A regular file, open until destruction. Throws UserError (data) if the path is missing, not a
// regular file, or not readable.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path);
  ~FileSource() override;

 private:
  struct Opened {
    int descriptor;
    std::uint64_t size;
  };
  static Opened open(const std::string& path);
  FileSource(const std::string& path, Opened opened);
  void fill(std::uint64_t offset, std::span<std::byte> out) const override;

  int descriptor_;
};

// Bytes in memory; they must outlive the source.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes);

 private:
  void fill(std::uint64_t offset, std::span<std::byte> out) const override;

  std::span<const std::byte> bytes_;
};

}  // namespace coconet
