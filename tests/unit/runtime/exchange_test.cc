#include "coconet/runtime/exchange.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace coconet::runtime {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Exchange, PartsOfAnyLengthArriveInTheirPlaces) {
  const std::vector<std::string> given = {"a", "", "eightlet", std::string(100, 'x') + "yz"};
  std::vector<std::span<const std::byte>> parts;
  for (const std::string& part : given) parts.push_back(bytes_of(part));
  Exchange from(3, parts), to(3, parts);
  const auto message = std::make_unique<PackedMessage>();
  const std::span<const std::uint64_t> sent = from.outgoing(77);
  EXPECT_FALSE(message->has_come(5, sent.size()));
  message->send(5, sent);
  EXPECT_TRUE(message->has_come(5, sent.size()));
  EXPECT_FALSE(message->has_come(6, sent.size()));
  message->receive(to.incoming(1));
  EXPECT_EQ(to.incoming(1)[0], 77u);
  for (std::size_t part = 0; part < given.size(); ++part) {
    EXPECT_EQ(std::memcmp(to.received(1, part), given[part].data(), given[part].size()), 0) << part;
  }
  EXPECT_EQ(to.incoming(2)[0], 0u);
}

// A message of more than a line has come only when each of its lines has.
TEST(Exchange, ALineThatIsMissingIsSeen) {
  const auto message = std::make_unique<PackedMessage>();
  const std::vector<std::uint64_t> words(2 * kLineWords + 1, 3);
  message->send(9, words);
  EXPECT_TRUE(message->has_come(9, words.size()));
  message->lines[2].flag.store(8);
  EXPECT_FALSE(message->has_come(9, words.size()));
  EXPECT_TRUE(message->has_come(9, words.size() - 1));
}

TEST(Exchange, WhatFits) {
  EXPECT_TRUE(Exchange::fits(kMostSenders, 512, 1));
  EXPECT_FALSE(Exchange::fits(kMostSenders + 1, 512, 1));
  EXPECT_TRUE(Exchange::fits(2, (kMessageWords - 2) * 8, 1));
  EXPECT_FALSE(Exchange::fits(2, (kMessageWords - 1) * 8 + 1, 1));
}

}  // namespace
}  // namespace coconet::runtime
