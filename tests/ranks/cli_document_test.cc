// docs/command_line.md: its commands end as it says, and it has every option.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "tests/support/files.h"
#include "tests/support/tool.h"

namespace coconet::tests {
namespace {

using testing::HasSubstr;

std::string document() { return test::read_text("docs/command_line.md"); }

// The text of the blocks of one language, in order.
std::vector<std::string> blocks_of(const std::string& language) {
  const std::string text = document(), open = "```" + language + "\n";
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    const std::size_t begin = at + open.size();
    at = text.find("\n```", begin);
    out.push_back(text.substr(begin, at - begin));
  }
  return out;
}

struct Command {
  std::string words;  // behind the name of the tool
  int status = 0;
};

// What is written goes to `folder`.
std::vector<Command> commands(const std::string& folder) {
  std::vector<Command> out;
  for (std::string block : blocks_of("sh")) {
    for (std::size_t at; (at = block.find("\\\n")) != std::string::npos;) block.replace(at, 2, " ");
    std::istringstream lines(block);
    for (std::string line; std::getline(lines, line);) {
      const std::string tool = "build/coconet ", says = "exit status ";
      EXPECT_TRUE(line.starts_with(tool)) << line;
      const std::size_t status = line.find(says), results = line.find("--out results");
      Command command{line.substr(0, line.find(" #")).substr(tool.size()), 0};
      if (status != std::string::npos)
        command.status = std::stoi(line.substr(status + says.size()));
      if (results != std::string::npos)
        command.words.replace(command.words.find(" results"), 8, " " + folder);
      for (const std::string written : {" tuned.", " sgd."}) {
        for (std::size_t at = 0; (at = command.words.find(written, at)) != std::string::npos;) {
          command.words.replace(at, 1, " " + folder + "-");
          at += folder.size() + 2;
        }
      }
      std::erase(command.words, '"');  // around a word without spaces
      out.push_back(command);
    }
  }
  return out;
}

TEST(CliDocument, CommandsEndAsItSays) {
  const test::TemporaryFolder folder;
  const std::vector<Command> all = commands(folder.path("results"));
  EXPECT_GE(all.size(), 10u);
  for (const Command& command : all) {
    const ToolResult result = run_tool(command.words);
    EXPECT_EQ(result.exit_code, command.status) << command.words << "\n" << result.err;
  }
  EXPECT_THAT(names_in(folder.path("results")),
              testing::UnorderedElementsAre("m.npy", "p.npy", "p2.npy", "v.npy"));
}

TEST(CliDocument, JsonHasTheKeysThatItShows) {
  const std::vector<std::string> shown = blocks_of("json");
  ASSERT_EQ(shown.size(), 2u);
  std::vector<std::string> got;
  for (const Command& command : commands("")) {
    if (command.words.find("--json") != std::string::npos)
      got.push_back(run_tool(command.words).out);
  }
  ASSERT_EQ(got.size(), 2u);
  for (const char* path : {"", "outputs/0", "outputs/1", "time_us"}) {
    EXPECT_EQ(json_keys(got[0], path), json_keys(shown[0], path));
  }
  for (const char* path : {"outputs", "mesh", "dims", "kernels", "bytes_sent"}) {
    EXPECT_EQ(json_at(got[0], path), json_at(shown[0], path));
  }
  EXPECT_EQ(got[1], shown[1] + "\n");
}

// The words that begin with "--" and a letter.
std::vector<std::string> options_in(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
    std::size_t end = at + 2;
    while (end < text.size() && std::islower(static_cast<unsigned char>(text[end]))) ++end;
    if (end > at + 2) out.push_back(text.substr(at, end - at));
    at = end;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

TEST(CliDocument, HasEveryOptionAndNoOther) {
  std::string help = "--version ";
  for (const char* name : {"check", "show", "run", "explain", "tune", "build"}) {
    help += run_tool(name + std::string(" --help")).out;
  }
  EXPECT_EQ(options_in(document()), options_in(help));
}

}  // namespace
}  // namespace coconet::tests
