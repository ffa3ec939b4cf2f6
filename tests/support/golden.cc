#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace coconet {
namespace {

std::string first_difference(const std::string& got, const std::string& want) {
  std::istringstream a(got), b(want);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(a, x));
    const bool more_b = static_cast<bool>(std::getline(b, y));
    if (!more_a && !more_b) return "they differ in the last newline";
    if (more_a != more_b || x != y) {
      return "line " + std::to_string(line) + "\n  got:    " + (more_a ? x : "(end)") +
             "\n  golden: " + (more_b ? y : "(end)");
    }
  }
}

}  // namespace

void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path("tests/golden") / name;
  const char* update = std::getenv("COCONET_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing; COCONET_UPDATE_GOLDEN=1 writes it";
  std::ostringstream want;
  want << file.rdbuf();
  EXPECT_EQ(text == want.str(), true)
      << path << ": " << first_difference(text, want.str())
      << "\nCOCONET_UPDATE_GOLDEN=1 writes the new text; read the difference first";
}

}  // namespace coconet
