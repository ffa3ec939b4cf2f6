// The commands of tutorial/*.md, as they stand there: they end as said, and print what is shown.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

constexpr char kTool[] = "build/coconet ";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// What the command, `build/coconet ... [# exit status N]`, prints.
std::string output_of(const std::string& line) {
  const std::size_t comment = line.find('#');
  const std::string status = "# exit status ";
  const int wanted =
      comment == std::string::npos ? 0 : std::stoi(line.substr(line.find(status) + status.size()));
  std::string words = line.substr(0, comment);
  EXPECT_EQ(words.find(kTool), 0u) << line;
  std::erase(words, '"');
  const ToolResult result = run_tool(words.substr(sizeof kTool - 1));
  EXPECT_EQ(result.exit_code, wanted) << line << "\n" << result.err;
  return result.out + result.err;
}

// Every line that is shown is one that was printed, in order; "..." stands for anything.
void expect_shown(const std::string& shown, const std::string& printed) {
  const std::vector<std::string> lines = lines_of(printed);
  auto at = lines.begin();
  for (const std::string& line : lines_of(shown)) {
    if (line == "...") continue;
    std::string pattern = std::regex_replace(line, std::regex(R"([\[\](){}*+?.^$|\\])"), R"(\$&)");
    pattern = std::regex_replace(pattern, std::regex(R"(\\\.\\\.\\\.)"), ".*");
    const std::regex wanted(pattern);
    at = std::find_if(at, lines.end(),
                      [&](const std::string& each) { return std::regex_match(each, wanted); });
    ASSERT_NE(at, lines.end()) << "not printed, or not in this order: " << line << "\nin\n"
                               << printed;
    ++at;
  }
}

// How many commands it has.
int expect_runs(const std::string& document) {
  int commands = 0;
  std::string printed, block;
  enum { text, shell, shown } in = text;
  for (const std::string& line : lines_of(document)) {
    if (line == "```sh") {
      in = shell;
      printed.clear();
    } else if (line == "```" && in == text) {
      in = shown;
      block.clear();
    } else if (line == "```") {
      if (in == shown) expect_shown(block, printed);
      in = text;
    } else if (in == shell) {
      printed += output_of(line);
      ++commands;
    } else if (in == shown) {
      block += line + "\n";
    }
  }
  return commands;
}

const char* const kPages[] = {"01_sum",     "02_types",   "03_values", "04_schedule",
                              "05_overlap", "06_explain", "07_verify", "08_real_data"};

class Tutorial : public testing::TestWithParam<const char*> {};

TEST_P(Tutorial, PrintsWhatItShows) {
  const test::TemporaryFolder folder;
  const std::string page = test::read_text("tutorial/" + std::string(GetParam()) + ".md");
  const std::regex written("/tmp/coconet-tutorial");
  EXPECT_GT(expect_runs(std::regex_replace(page, written, folder.path("out"))), 0);
}

INSTANTIATE_TEST_SUITE_P(Pages, Tutorial, testing::ValuesIn(kPages),
                         [](const auto& info) { return std::string(info.param); });

TEST(TutorialFolder, HasNoOtherPages) {
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator("tutorial")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path().stem().string());
  }
  std::sort(pages.begin(), pages.end());
  EXPECT_THAT(pages, testing::ElementsAreArray(kPages));
}

}  // namespace
}  // namespace coconet::tests
