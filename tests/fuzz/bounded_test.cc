// Every target on its corpus, and on a bounded number of mutations of it, with any compiler. The
// long search is libFuzzer's (make fuzz).
//
// COCONET_FUZZ_EXECUTIONS: mutations a target. COCONET_FUZZ_SEED: another sequence of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tests/support/files.h"

namespace coconet::fuzz {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kExecutions = 2000;
#else
constexpr std::uint64_t kExecutions = 20000;
#endif
constexpr std::size_t kLongest = 4096;  // bytes of a mutated input

std::uint64_t setting_of(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

// File contents, in the order of their paths.
std::vector<std::string> corpus_of(const Target& target) {
  std::vector<std::filesystem::path> paths;
  const std::string own = "tests/fuzz/corpus/" + std::string(target.name);
  for (const std::string& folder : {own, std::string("examples")}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const bool text = entry.path().extension() == ".coco";
      if (folder == own || (text && target.name == "coco")) paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const auto& path : paths) out.push_back(test::read_text(path.string()));
  return out;
}

class Mutator {
 public:
  Mutator(const Target& target, const std::vector<std::string>& corpus, std::uint64_t seed)
      : target_(target), corpus_(corpus), random_(seed) {}

  std::string next() {
    std::string text = corpus_[below(corpus_.size())];
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    text.resize(std::min(text.size(), kLongest));
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_() % n; }

  std::string piece_of(const std::string& text) {
    const std::size_t from = below(text.size() + 1);
    return text.substr(from, below(32));
  }

  void edit(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0: text.insert(at, target_.words[below(target_.words.size())]); break;
      case 1: text.erase(at, 1 + below(16)); break;
      case 2: text.insert(at, piece_of(text)); break;
      case 3: text.insert(at, piece_of(corpus_[below(corpus_.size())])); break;
      case 4: text.insert(at, 1, static_cast<char>(below(256))); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }

  const Target& target_;
  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

// Keeps an input on which the target fails, and says where.
void run(const Target& target, const std::string& input) {
  try {
    target.run(test::bytes_of(input));
  } catch (const std::exception& error) {
    const auto kept =
        std::filesystem::temp_directory_path() / ("coconet_fuzz_" + std::string(target.name));
    test::write_text(kept.string(), input);
    FAIL() << error.what() << "\nthe input is kept as " << kept;
  }
}

class Bounded : public testing::TestWithParam<int> {};

TEST_P(Bounded, CorpusIsReadOrRefused) {
  const Target& target = targets()[GetParam()];
  const std::vector<std::string> corpus = corpus_of(target);
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) run(target, input);
}

TEST_P(Bounded, MutationsAreReadOrRefused) {
  const Target& target = targets()[GetParam()];
  const std::vector<std::string> corpus = corpus_of(target);
  Mutator mutator(target, corpus, setting_of("COCONET_FUZZ_SEED", 1));
  const std::uint64_t executions = setting_of("COCONET_FUZZ_EXECUTIONS", kExecutions);
  for (std::uint64_t i = 0; i < executions && !HasFatalFailure(); ++i) run(target, mutator.next());
}

INSTANTIATE_TEST_SUITE_P(Target, Bounded, testing::Range(0, 3),
                         [](const auto& info) { return std::string(targets()[info.param].name); });

}  // namespace
}  // namespace coconet::fuzz
