#include "coconet/runtime/exchange.h"

#include <cstring>

#include "coconet/base/error.h"

namespace coconet::runtime {
namespace {

std::size_t words_of(std::size_t bytes) { return (bytes + 7) / 8; }

}  // namespace

bool Exchange::fits(int ranks, std::size_t bytes, std::size_t parts) {
  return ranks <= kMostSenders && 1 + words_of(bytes) + parts <= kMessageWords;
}

Exchange::Exchange(int ranks, std::vector<std::span<const std::byte>> given)
    : given_(std::move(given)) {
  std::size_t words = 1;  // the digest
  for (const std::span<const std::byte> part : given_) {
    begin_.push_back(words);
    words += words_of(part.size());
  }
  check(ranks <= kMostSenders && words <= kMessageWords, "what is exchanged fits a message");
  outgoing_.resize(words);
  incoming_.assign(static_cast<std::size_t>(ranks), std::vector<std::uint64_t>(words));
}

std::span<const std::uint64_t> Exchange::outgoing(std::uint64_t digest) {
  outgoing_[0] = digest;
  for (std::size_t part = 0; part < given_.size(); ++part) {
    if (given_[part].empty()) continue;
    std::memcpy(&outgoing_[begin_[part]], given_[part].data(), given_[part].size());
  }
  return outgoing_;
}

std::byte* Exchange::received(int rank, std::size_t part) {
  std::vector<std::uint64_t>& from = incoming_.at(static_cast<std::size_t>(rank));
  return reinterpret_cast<std::byte*>(from.data() + begin_.at(part));
}

}  // namespace coconet::runtime
