// What is measured of peers, on a library that is known: ranks are threads, and collectives plain
// loops behind a barrier. And how peers that are installed are found.
#include <gmock/gmock.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "bench/harness/peers.h"
#include "bench/harness/workload.h"
#include "bench/peers/operations.h"
#include "bench/worker/half.h"
#include "bench/worker/product.h"
#include "bench/worker/rows.h"

namespace coconet::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Meeting {
  explicit Meeting(int count)
      : ranks(count), barrier(count), from(static_cast<std::size_t>(count)) {}
  int ranks;
  std::barrier<> barrier;
  std::vector<const void*> from;
};

class Plain : public Library {
 public:
  // `missing`: a rank whose part is left out of sums; none if it is negative.
  Plain(Meeting& meeting, int rank, int missing)
      : meeting_(meeting), rank_(rank), missing_(missing) {}
  int rank() const override { return rank_; }
  int ranks() const override { return meeting_.ranks; }
  void all_reduce(const void* from, void* to, std::int64_t count, Number number) override {
    share(from, [&] { sum(to, 0, count, number); });
  }
  void reduce_scatter(const void* from, void* to, std::int64_t each, Number number) override {
    share(from, [&] { sum(to, rank_ * each, each, number); });
  }
  void all_gather(const void* from, void* whole, std::int64_t each, Number number) override {
    collect(from, whole, 0, each * bytes_of(number));
  }
  void all_to_all(const void* from, void* to, std::int64_t each, Number number) override {
    collect(from, to, rank_ * each * bytes_of(number), each * bytes_of(number));
  }

 private:
  template <class F>
  void share(const void* from, F&& f) {
    meeting_.from[static_cast<std::size_t>(rank_)] = from;
    meeting_.barrier.arrive_and_wait();
    f();
    meeting_.barrier.arrive_and_wait();
  }
  void collect(const void* from, void* to, std::int64_t offset, std::int64_t bytes) {
    share(from, [&] {
      for (int r = 0; r < ranks(); ++r) {
        const auto* part = static_cast<const char*>(meeting_.from[static_cast<std::size_t>(r)]);
        std::memmove(static_cast<char*>(to) + r * bytes, part + offset,
                     static_cast<std::size_t>(bytes));
      }
    });
  }
  void sum(void* to, std::int64_t begin, std::int64_t count, Number number) {
    for (std::int64_t i = 0; i < count; ++i) {
      float out = 0;
      for (int r = 0; r < ranks(); ++r) {
        const void* from = meeting_.from[static_cast<std::size_t>(r)];
        if (r == missing_) continue;
        out += number == Number::f32 ? static_cast<const float*>(from)[begin + i]
                                     : widened(static_cast<const Bf16*>(from)[begin + i]);
      }
      if (number == Number::f32) static_cast<float*>(to)[i] = out;
      if (number == Number::bf16) static_cast<Bf16*>(to)[i] = bf16_of(out);
    }
  }

  Meeting& meeting_;
  int rank_, missing_;
};

// The largest difference of any rank, of every operation that the harness asks of a peer.
std::map<std::string, double> differences(const Group& group, int ranks, int missing = -1) {
  std::vector<std::string> words = {"", "group=" + group.name, "pages=huge"};
  for (const auto& [name, value] : words_of(group.problem)) words.push_back(name + "=" + value);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const Arguments arguments(static_cast<int>(pointers.size()), pointers.data());
  Meeting meeting(ranks);
  std::map<std::string, double> out;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Plain library(meeting, rank, missing);
      const auto operations = operations_of(library, arguments);
      for (const Workload& workload : group.workloads) {
        for (const std::string& form : workload.forms) {
          const std::string name = workload.name + "." + workload.dtype + "/" + form;
          operations->use_buffers(name);
          const double difference = operations->check(name) / workload.bound;
          const std::lock_guard lock(mutex);
          double& worst = out[name];
          worst = std::max(worst, workload.bound > 0 || difference > 0 ? difference : 0);
        }
      }
    });
  }
  threads.clear();
  return out;
}

void expect_right(const Group& group, int ranks) {
  for (const auto& [name, difference] : differences(group, ranks)) {
    EXPECT_LE(difference, 1) << name << " on " << ranks << " ranks";
  }
  for (const auto& [name, difference] : differences(group, ranks, ranks - 1)) {
    if (name.ends_with("/all_to_all") || name.ends_with("/gather")) continue;  // hold no such sum
    EXPECT_GT(difference, 1) << name << " on " << ranks << " ranks";
  }
}

TEST(Peers, EveryFormOfAnOptimizersStepIsRightAndAWrongSumIsSeen) {
  for (const std::int64_t elements : {1, 1027, 5000}) {
    for (const int ranks : {2, 3}) expect_right(optimizers_group(elements), ranks);
  }
}

TEST(Peers, EveryFormOfAListsStepIsRightAndAWrongSumIsSeen) {
  Group group = lists_group(1 << 20);
  group.problem.members = {5, 1, 3000, 700, 1024};
  group.problem.elements = 4730;
  for (const int ranks : {2, 3}) expect_right(group, ranks);
}

TEST(Peers, EveryFormOfALayersEndIsRightAndAWrongSumIsSeen) {
  for (const int ranks : {2, 3}) {
    expect_right(rows_group(5, 96), ranks);
    expect_right(products_group(7, 160, 33), ranks);
  }
}

TEST(Peers, AProductsDifferenceSeesValuesAndHowManyAreDropped) {
  const Problem problem = {.m = 40, .n = 50, .k = 30};
  const auto with = [&](auto drop) {
    return product_difference(problem, 2, [&](std::int64_t i) {
      const double total = product_total(problem, 2, i) + product_bias(i % problem.n);
      return (drop(i) ? 0 : total / 0.9) + product_residual(i);
    });
  };
  EXPECT_LT(with([](std::int64_t i) { return i % 20 < 2; }), 1e-6);
  EXPECT_EQ(with([](std::int64_t) { return false; }), INFINITY);
  EXPECT_EQ(with([](std::int64_t) { return true; }), INFINITY);
  EXPECT_GT(product_difference(problem, 2, [](std::int64_t) { return 0.5; }), 0.01);
}

TEST(Peers, BertsTensorsAreScaledButSmallOnesStay) {
  const auto sum = [](const std::vector<std::int64_t>& of) {
    std::int64_t out = 0;
    for (const std::int64_t each : of) out += each;
    return out;
  };
  EXPECT_EQ(bert_tensors(1).size(), 396u);
  EXPECT_EQ(sum(bert_tensors(1)), 335'707'968);
  const auto scaled = bert_tensors(64);
  EXPECT_EQ(scaled.size(), 396u);
  EXPECT_EQ(scaled.front(), 31'260'672 / 64);
  EXPECT_EQ(scaled.back(), 1024);
  EXPECT_EQ(*std::min_element(scaled.begin(), scaled.end()), 1024);
}

TEST(Peers, ProblemsSurviveBeingArguments) {
  for (const Problem& problem :
       {Problem{.elements = 5}, Problem{.m = 2, .n = 3, .k = 4}, Problem{.m = 2, .n = 3},
        Problem{.elements = 14, .members = {3, 3, 1, 3, 4}}}) {
    std::vector<std::string> words = {"program"};
    for (const auto& [name, value] : words_of(problem)) words.push_back(name + "=" + value);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    EXPECT_EQ(problem_of(Arguments(static_cast<int>(pointers.size()), pointers.data())), problem);
  }
  const Problem bert = {.elements = 335'707'968, .members = bert_tensors(1)};
  EXPECT_LT(words_of(bert).at("members").size(), 100u);
}

// An installed library: its launcher, and the ranks that the build has made for it.
void put_program(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path).put('\n');
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST(Peers, ThoseThatAreAbsentAreNamedWithWhatBringsThem) {
  const auto root = std::filesystem::temp_directory_path() / ("peers-" + std::to_string(getpid()));
  std::filesystem::create_directories(root / "bench");
  PeerOptions options{.folder = (root / "bench").string(), .source = "/source"};
  options.only = {"impi", "openmpi5", "mpich5", "oneccl"};
  PeerList found = find_peers(options);
  EXPECT_TRUE(found.there.empty());
  EXPECT_THAT(found.absent,
              ElementsAre("openmpi5: not there; bench/peers.sh openmpi5, then make bench",
                          "mpich5: not there; bench/peers.sh mpich5, then make bench",
                          "impi: not there; bench/peers.sh impi, then make bench",
                          "oneccl: not there; bench/peers.sh oneccl, then make bench"));
  put_program(root / "peers/openmpi5/bin/mpirun");
  options.only = {"openmpi5"};
  EXPECT_THAT(find_peers(options).absent,
              ElementsAre("openmpi5: its ranks are not built; make bench"));
  put_program(root / "bench/mpi_openmpi5");
  options.ranks = 4;
  options.crowded = true;
  found = find_peers(options);
  EXPECT_TRUE(found.absent.empty());
  ASSERT_EQ(found.there.size(), 3u);
  const Peer& plain = found.there[0];
  EXPECT_EQ(plain.name, "openmpi5");
  EXPECT_FALSE(plain.tuned);
  EXPECT_THAT(plain.program.command,
              ElementsAre(HasSubstr("/peers/openmpi5/bin/mpirun"), "-np", "4", "--bind-to", "none",
                          "--oversubscribe", HasSubstr("/bench/mpi_openmpi5")));
  EXPECT_THAT(plain.program.variables, Not(Contains(HasSubstr("GLIBC_TUNABLES"))));
  EXPECT_TRUE(found.there[2].tuned);
  EXPECT_EQ(found.there[2].name, "openmpi5-ucx");
  EXPECT_THAT(found.there[2].program.variables, Contains(HasSubstr("GLIBC_TUNABLES")));
  std::filesystem::remove_all(root);
}

TEST(Peers, AFrameworkHasWhatItHas) {
  const Peer torch{.name = "torch", .settings = "", .framework = true};
  EXPECT_TRUE(torch.has("adam", "f32"));
  EXPECT_FALSE(torch.has("adam", "f16"));
  EXPECT_FALSE(torch.has("lamb", "f32"));
  EXPECT_FALSE(torch.has_form("scatter"));
  const Peer oneccl{.name = "oneccl-shm", .settings = ""};
  EXPECT_TRUE(oneccl.has("lamb", "f16"));
  EXPECT_TRUE(oneccl.has_form("scatter"));
  EXPECT_FALSE(oneccl.has_form("per_tensor"));
}

}  // namespace
}  // namespace coconet::bench
