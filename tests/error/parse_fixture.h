// Expects the errors of a text.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "coconet/schedule/file.h"

namespace coconet::fixture {

// An error at "line:column" whose message holds `words`.
struct Wanted {
  std::string place;
  std::string words;
};

// The text has exactly these errors, in this order.
inline void expect_errors(const std::string& text, const std::vector<Wanted>& wanted) {
  try {
    parse_file(text, "t");
    ADD_FAILURE() << "accepted:\n" << text;
  } catch (const UserErrors& errors) {
    const std::vector<UserError>& found = errors.errors();
    EXPECT_EQ(found.size(), wanted.size()) << errors.what() << "\n" << text;
    for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
      EXPECT_EQ(found[i].where().text(), "t:" + wanted[i].place) << found[i].what();
      EXPECT_THAT(found[i].message(), testing::HasSubstr(wanted[i].words));
    }
  }
}

// One statement, on line 4 from column 3, in a program of several inputs.
inline std::string with_statement(const std::string& statement) {
  return "mesh world(tp)\ndim N, M\nprogram p(x: f32[N], y: f32[N] partial(+), s: f32[N] "
         "sliced(0), "
         "i: i32[N], h: f16[N], w: f32[N,M], scalar a: f32) {\n  " +
         statement + "\n  return x\n}\n";
}

inline void expect_statement_error(const std::string& statement, const std::string& column,
                                   const std::string& words) {
  SCOPED_TRACE(statement);
  expect_errors(with_statement(statement), {{"4:" + column, words}});
}

}  // namespace coconet::fixture
