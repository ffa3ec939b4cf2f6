// Tables of what operations accept and the type they give.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coconet/graph/infer.h"

namespace coconet::fixture {

// A row of a table: the operation on operands of these types has that type.
struct Case {
  Op op;
  std::vector<TensorType> operands;
  std::string expected;
};

inline void expect_all(const std::vector<Case>& cases, const Mesh& mesh) {
  for (const Case& c : cases) {
    std::string call(name_of(c.op));
    for (const TensorType& type : c.operands) call += " " + type.text(mesh);
    SCOPED_TRACE(call);
    try {
      EXPECT_EQ(infer(c.op, c.operands, mesh).text(mesh), c.expected);
    } catch (const UserError& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

}  // namespace coconet::fixture
