// Expects a UserError whose message holds words.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "coconet/base/error.h"

namespace coconet::fixture {

inline void expect_refused(const std::function<void()>& act,
                           const std::vector<std::string>& substrings) {
  try {
    act();
    ADD_FAILURE() << "accepted; needed a refusal that says: " << substrings.front();
  } catch (const UserError& error) {
    for (const std::string& words : substrings) {
      EXPECT_THAT(error.message(), ::testing::HasSubstr(words));
    }
  }
}

}  // namespace coconet::fixture
