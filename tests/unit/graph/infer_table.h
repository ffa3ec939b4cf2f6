// Tables of what operations accept and the type they give.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "coconet/graph/infer.h"
#include "tests/graph_fixture.h"

namespace coconet::fixture {

constexpr int dp = 0;
constexpr int tp = 1;
inline const Fixture kOne;                // mesh world(tp)
inline const Fixture kTwo{{"dp", "tp"}};  // mesh world(dp, tp)

// Of kOne's mesh.
inline TensorType of(const std::vector<std::string>& dims,
                     const Placement& placement = Replicated{}, DType dtype = f32) {
  return kOne.type(std::move(dtype), dims, {{0, placement}});
}
// Of kTwo's.
inline TensorType on(const std::vector<std::string>& dims,
                     const std::vector<std::pair<int, Placement>>& placed) {
  return kTwo.type(f32, dims, placed);
}

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
