// What the harness is asked for: refused before anything is measured if nothing can come of it.
#include "bench/harness/request.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "bench/harness/group.h"
#include "bench/harness/peers.h"
#include "bench/harness/report.h"
#include "coconet/base/error.h"

namespace coconet::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kJson =
    (std::filesystem::temp_directory_path() / "coconet-bench-request.json").string();

Request read(std::vector<std::string> words) {
  words.insert(words.begin(), {"harness", "--json", kJson});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return read_request(static_cast<int>(argv.size()), argv.data());
}

// The message; "" if it is accepted.
std::string refusal(const std::vector<std::string>& words) {
  try {
    read(words);
    return "";
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.message();
  }
}

std::vector<std::string> sizes_of(const Request& request, int ranks) {
  std::vector<std::string> out;
  for (const Group& group : groups_of(request, ranks)) out.push_back(size_text(group.problem));
  return out;
}

TEST(Request, SizesThatAreGivenReplaceAllOthers) {
  const Request request = read({"--powers", "0,30", "--products", "2x3x4"});
  EXPECT_THAT(sizes_of(request, 2), ElementsAre("2^0", "2^30", "2x3x4"));
  EXPECT_EQ(groups_of(request, 2)[0].workloads.size(), 5u);  // all_reduce, and two of two dtypes
  EXPECT_THAT(ranks_of(request), ElementsAre(2));
  const Request full = read({"--full", "--only", "adam,rms_norm"});
  EXPECT_THAT(ranks_of(full), ElementsAre(2, 4, 8));
  EXPECT_EQ(sizes_of(full, 4).size(), 4u + 10 - 7);
  EXPECT_EQ(sizes_of(full, 2).size(), 17u + 10);
}

TEST(Request, SizesOutOfRangeAreRefusedWithTheRange) {
  EXPECT_EQ(refusal({"--powers", "10,-3"}), "--powers -3: needed is 0 to 30, for 2^K elements");
  EXPECT_EQ(refusal({"--powers=40"}), "--powers 40: needed is 0 to 30, for 2^K elements");
  EXPECT_EQ(refusal({"--rows", "0"}), "--rows 0: needed is 1 to 262144, rows of 4096");
  EXPECT_EQ(refusal({"--rows", "262144"}), "");
  EXPECT_EQ(refusal({"--lists", "0"}),
            "--lists 0: needed is 1 to 1048576, by which tensors are divided");
  EXPECT_EQ(refusal({"--ranks", "2,65"}), "--ranks 65: needed is 1 to 64, ranks");
  for (const std::string wrong : {"4x0x4", "4x4", "4x4x4x4", "1048576x1024x1025", "x",
                                  "9223372036854775807x9223372036854775807x9223372036854775807"}) {
    EXPECT_THAT(refusal({"--products", wrong}),
                HasSubstr("--products " + wrong + ": needed is MxNxK, as 64x1024x512"));
  }
  EXPECT_EQ(refusal({"--products", "1048576x1024x1024"}), "");
}

TEST(Request, SizesBeyondMemoryAreRefused) {
  const Group sums = wanted_of(optimizers_group(1000), {"all_reduce"});
  EXPECT_NO_THROW(check_memory(sums, 2, 16'000));
  try {
    check_memory(sums, 2, 15'999);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.message(), HasSubstr("all_reduce of 1000 takes 0.0 GB on 2 ranks"));
  }
}

// Two starts of one round each are two batches; a figure needs three.
TEST(Request, RoundsThatMakeNoFigureAreRefused) {
  for (const std::string wrong : {"1", "0", "-4"}) {
    const std::string message = refusal({"--rounds", wrong});
    EXPECT_THAT(message, HasSubstr("--rounds " + wrong + ": needed is 2 to 10000"));
    EXPECT_THAT(message, HasSubstr("at least 3 batches of one placement, and after each of 2"));
  }
  EXPECT_EQ(effort_of(read({"--rounds", "2"})).rounds, 2);
  EXPECT_EQ(effort_of(read({})).rounds, Effort().rounds);
  EXPECT_EQ(effort_of(read({"--smoke", "--rounds", "1"})).rounds, 1);
  EXPECT_THAT(refusal({"--smoke", "--rounds", "0"}), HasSubstr("needed is 1 to"));
}

TEST(Request, WorkloadsWithoutANameOrWithoutASizeAreRefused) {
  EXPECT_EQ(refusal({"--only", "adam,foo"}),
            "--only foo: there is no such workload; there are all_reduce, adam, lamb, adam_list, "
            "lamb_list, rms_norm, matmul");
  const std::string rest =
      " gives its sizes, and where sizes are given there are no others; found --powers";
  for (const auto& [name, option] :
       {std::pair("matmul", "--products"), {"rms_norm", "--rows"}, {"lamb_list", "--lists"}}) {
    EXPECT_EQ(refusal({"--powers", "5", "--only", std::string("adam,") + name}),
              std::string("--only ") + name + ": " + option + rest);
    EXPECT_EQ(refusal({"--only", name}), "");
  }
  EXPECT_THAT(refusal({"--rows", "5", "--only", "lamb"}), HasSubstr("--powers gives its sizes"));
  EXPECT_EQ(refusal({"--powers", "5", "--rows", "5", "--only", "lamb"}),
            "--rows with --only lamb: it gives sizes of rms_norm alone, none of which is measured");
  EXPECT_EQ(refusal({"--powers", "5", "--rows", "5", "--only", "lamb,rms_norm"}), "");
}

TEST(Request, AFileThatCannotBeWrittenIsFoundBeforeMeasuring) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_THAT(refusal({"--json", "/no/such/folder/x.json"}),
              HasSubstr("--json /no/such/folder/x.json: no file can be made in the folder"));
  EXPECT_THAT(refusal({"--json", folder}), HasSubstr("is a directory"));
  EXPECT_FALSE(std::filesystem::exists(kJson));
}

TEST(Request, PeersOfNoNameAreRefusedWithThoseThatThereAre) {
  const auto known = [](bool crowded) {
    return find_peers({.folder = "/no/bench", .source = "", .crowded = crowded, .only = {"none"}});
  };
  const PeerList two = known(false);
  EXPECT_TRUE(two.there.empty());
  EXPECT_TRUE(two.absent.empty());  // nobody wants them
  EXPECT_NO_THROW(check_peers({"openmpi", "impi-13", "oneccl-s"}, two.known));
  EXPECT_NO_THROW(check_peers({"impi-yield"}, known(true).known));
  for (const std::string wrong : {"foo", "impi-yield", ""}) {
    try {
      check_peers({"mpich", wrong}, two.known);
      FAIL() << wrong;
    } catch (const UserError& error) {
      EXPECT_THAT(error.message(), HasSubstr("--peers " + wrong +
                                             ": needed is how the name of a "
                                             "peer begins; there are openmpi, openmpi-tuned, "));
      EXPECT_THAT(error.message(), HasSubstr("impi, impi-tuned, impi-13, oneccl,"));
    }
  }
  EXPECT_THAT(refusal({"--no-peers", "--peers", "impi"}),
              HasSubstr("--peers impi: with --no-peers no peer is measured"));
}

// One setting of a library is named as in the table.
TEST(Request, APeerIsWantedByItsWholeName) {
  const auto absent = [](const std::string& name) {
    return find_peers({.folder = "/no/bench", .source = "", .only = {name}}).absent;
  };
  EXPECT_THAT(absent("impi-13"),
              ElementsAre("impi: not there; bench/peers.sh impi, then make bench"));
}

TEST(Report, ARowNamesItsScheduleAndALegendTheColumns) {
  Row row;
  row.workload = "adam";
  row.problem = {.elements = 1};
  row.placement = "D";
  row.schedule = "whole";
  row.us = 2;
  row.others = {{"sharded", 4}};
  testing::internal::CaptureStdout();
  print_table({row});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, testing::ContainsRegex("adam +f32 +2\\^0 2  D whole +2\\.00 "));
  EXPECT_THAT(text, HasSubstr(" 4.00 sharded: the row's ours takes 0.50 of it\n"));
  for (const std::string explained :
       {"N: ", "S, D: ", "sum alone: ", "ratio: ", "floor us: ", "takes 0.50 of it\": "}) {
    EXPECT_THAT(text, HasSubstr(explained));
  }
}

}  // namespace
}  // namespace coconet::bench
