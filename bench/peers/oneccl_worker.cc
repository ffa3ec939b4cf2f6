// A rank of oneCCL. Of its packages (bench/peers.sh oneccl) the static library alone is usable: the
// shared ones need a library that no package has. It has hooks for a profiler, which are not there.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <oneapi/ccl.hpp>
#include <stdexcept>

#include "bench/peers/operations.h"

#define COCONET_NO_HOOK(name) void* __itt_##name##_ptr__3_0 = nullptr;
extern "C" {
COCONET_NO_HOOK(domain_create)
COCONET_NO_HOOK(event_create)
COCONET_NO_HOOK(event_end)
COCONET_NO_HOOK(event_start)
COCONET_NO_HOOK(metadata_add)
COCONET_NO_HOOK(string_handle_create)
COCONET_NO_HOOK(task_begin)
COCONET_NO_HOOK(task_end)
COCONET_NO_HOOK(thread_set_name)
}

namespace coconet::bench {
namespace {

// Where rank 0 tells the others how to find it.
struct Meeting {
  std::atomic<bool> there = false;
  ccl::kvs::address_type address = {};
};

class OneCcl : public Library {
 public:
  OneCcl(Meeting& meeting, int rank, int ranks) : rank_(rank), ranks_(ranks) {
    ccl::init();
    if (rank == 0) {
      store_ = ccl::create_main_kvs();
      meeting.address = store_->get_address();
      meeting.there = true;
    } else {
      while (!meeting.there) usleep(1000);
      store_ = ccl::create_kvs(meeting.address);
    }
    communicator_.emplace_back(ccl::create_communicator(ranks, rank, store_));
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void all_reduce(const void* from, void* to, std::int64_t count, Number number) override {
    ccl::allreduce(from, to, size(count), type(number), ccl::reduction::sum, communicator()).wait();
  }

  void reduce_scatter(const void* from, void* to, std::int64_t each, Number number) override {
    ccl::reduce_scatter(from, to, size(each), type(number), ccl::reduction::sum, communicator())
        .wait();
  }

  void all_gather(const void* from, void* whole, std::int64_t each, Number number) override {
    counts_.assign(static_cast<std::size_t>(ranks_), size(each));
    ccl::allgatherv(from, size(each), whole, counts_, type(number), communicator()).wait();
  }

  void all_to_all(const void* from, void* to, std::int64_t each, Number number) override {
    ccl::alltoall(from, to, size(each), type(number), communicator()).wait();
  }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
  static ccl::datatype type(Number number) {
    switch (number) {
      case Number::f32: return ccl::datatype::float32;
      case Number::bf16: return ccl::datatype::bfloat16;
      case Number::half: return ccl::datatype::float16;
    }
    throw std::runtime_error("no such number");
  }
  const ccl::communicator& communicator() const { return communicator_.front(); }

  int rank_, ranks_;
  ccl::shared_ptr_class<ccl::kvs> store_;
  std::vector<ccl::communicator> communicator_;  // one; it has no value without a communicator
  std::vector<std::size_t> counts_;
};

void run(const Arguments& arguments) {
  const int ranks = static_cast<int>(arguments.number("ranks", 2));
  void* shared =
      mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  auto* const meeting = new (shared) Meeting;
  const int rank = fork_ranks(ranks);
  pin(arguments, rank);
  {
    OneCcl library(*meeting, rank, ranks);
    serve(arguments, rank, *operations_of(library, arguments));
  }
  await_ranks(rank);
}

}  // namespace
}  // namespace coconet::bench

int main(int argc, char** argv) {
  using namespace coconet::bench;
  return exit_code_of(argv[0], [&] { run(Arguments(argc, argv)); });
}
