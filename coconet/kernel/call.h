// The interface between a generated module and the runtime that calls it: plain data, no
// dependencies.
//
// A module performs the ticks of one plan for one rank. All ranks of a job perform the same ticks
// in the same order; tick numbers begin at 1 (0 is "has entered the call"). Each rank publishes how
// far it is in one monotone counter, its *progress*.
#pragma once

#include <cstdint>

namespace coconet::kernel {

inline constexpr std::uint32_t kAbiVersion = 6;

// The elements that a thread of a rank is worth: a launch of less than two times as many is done by
// one thread, as calling others takes as long (docs/performance.md).
inline constexpr std::int64_t kThreadGrain = 4096;

// A rank's progress, in memory that all ranks see. The builtins instead of std::atomic keep
// generated modules quick to compile.
class Counter {
 public:
  std::uint64_t load() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  // Publishes all that this thread wrote before, past the caches too (cpu/stream.h).
  void store(std::uint64_t value) {
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
    __atomic_store_n(&value_, value, __ATOMIC_RELEASE);
  }

 private:
  std::uint64_t value_;
};

// Status of a call; everything but kOk has its message on the communicator.
enum Status : int { kOk = 0, kFailed = 1 };

// Which stores go past the caches (cpu/stream.h): those to other ranks, or also those to buffers of
// this rank that the launch does not read.
enum class Stream : int { none = 0, to_peers = 1, all = 2 };

// The element types a Matmul call takes.
enum class MatmulType : int { f32 = 0, bf16 = 1, f16 = 2, f64 = 3 };

// out[m,n] = a[m,k] * b[k,n], each row-major with the given row stride in elements; `ta`: a is
// given as [k,m], `tb`: b as [n,k]. Accumulates in f32 (f64 for f64) and rounds once to `out_type`.
// Every out[i,j] depends only on row i of a, column j of b and k, whatever m and n are.
struct MatmulCall {
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  std::int64_t a_stride = 0, b_stride = 0, out_stride = 0;
  MatmulType type = MatmulType::f32;
  MatmulType out_type = MatmulType::f32;
  bool ta = false, tb = false;
  // Not 0: what `b` points to holds the same values in all calls of the process with this number.
  // Those with kConstant in it come again in later calls of the module.
  std::uint64_t b_id = 0;
  static constexpr std::uint64_t kConstant = std::uint64_t{1} << 63;
};

// out[n,o,oh,ow] = x[n,c,h,w] convolved by weight[o,c,kh,kw], all dense: the window stands at every
// `stride`-th element of x with `padding` zeros around h and w, which are multiplied as others are.
// Accumulates and rounds as a MatmulCall does; an element depends on its window and on weight[o]
// alone, whatever `images`, `out_channels` and the sizes are.
struct Conv2dCall {
  std::int64_t images = 0, in_channels = 0, out_channels = 0;
  std::int64_t height = 0, width = 0, window_height = 0, window_width = 0;
  std::int64_t out_height = 0, out_width = 0;
  std::int64_t first_row = 0, rows = 0;  // of out_height: those that are made of each image
  std::int64_t stride = 1, padding = 0;
  const void* x = nullptr;
  const void* weight = nullptr;
  void* out = nullptr;
  MatmulType type = MatmulType::f32;
};

// The members of a list and the blocks that they take, one member after the other.
struct ListTable {
  std::int64_t members = 0, blocks = 0;
  const std::int64_t* elements = nullptr;     // by member
  const std::int64_t* first_block = nullptr;  // by member, and the end
  const std::int64_t* member_of = nullptr;    // by block
};

// What one rank's module sees of one call. Owned by the runtime; valid during the call.
struct Call {
  int rank = 0;  // in the whole job, 0..ranks-1
  int ranks = 1;
  const int* mesh_sizes =
      nullptr;  // one per mesh axis, mesh order; ranks are row-major, last axis fastest
  // Bound sizes of the program's dims, in the plan's order; of a list's dim, the number of members.
  const std::int64_t* dims = nullptr;
  const ListTable* lists = nullptr;  // of the plan's lists, in its order
  const std::int64_t* knobs =
      nullptr;             // run-time arguments of the plan (chunk counts), in the plan's order
  std::uint64_t seed = 0;  // run seed of dropout
  std::uint64_t call_number = 0;  // 0 for the first call
  std::uint64_t id = 0;           // of no other call in this process; 0: none
  // address[b * ranks + q]: buffer b of rank q in this process's address space; null for a private
  // buffer of another rank.
  void* const* address = nullptr;
  // Of each buffer a number of the values it holds, as MatmulCall::b_id, if they are the same in
  // many calls; else 0. Null: all are 0.
  const std::uint64_t* constant = nullptr;
  Stream stream = Stream::none;
  // Every rank performs all of every launch for itself alone (plan/one_shot.h).
  bool one_shot = false;
  // Inputs that are read of peers are copies that came with their entries.
  bool exchanged = false;

  // progress[q]: the counter of rank q. Counts all entries and ticks of all calls; this call's tick
  // s is reached when *progress[q] >= base + s. Counters are never set back. The runtime lets no
  // module run before all ranks have entered and compared their entries, so a wait for tick 0
  // never has to wait.
  Counter* const* progress = nullptr;
  std::uint64_t base = 0;

  // Called when a wait does not succeed at once: waits until *progress[peer] >= target. Not kOk:
  // the call must return kFailed at once. `tick` is the waiting tick and `launch` its launch, for
  // reports.
  Status (*wait_slow)(void* runtime, int peer, std::uint64_t target, int tick,
                      int launch) = nullptr;
  Status (*matmul)(void* runtime, const MatmulCall&) = nullptr;
  Status (*conv2d)(void* runtime, const Conv2dCall&) = nullptr;
  // Records why the call fails in a launch, for the user; gives kFailed.
  Status (*fail)(void* runtime, int launch, const char* message) = nullptr;

  // Threads of this rank, the one that runs the module among them (cpu/threads.h). matmul, conv2d
  // and fail may be called by all of them, the rest by that one alone.
  int threads = 1;
  std::int64_t grain = kThreadGrain;
  // Performs work(context, part) for the parts 0 .. parts - 1, each on a thread of its own, part 0
  // on the calling one, and returns when all have ended: kOk, or the status of the first part that
  // failed. Requires: 2 <= parts <= threads.
  Status (*divide)(void* runtime, int parts, Status (*work)(const void* context, int part),
                   const void* context) = nullptr;
  void* runtime = nullptr;
};

// This call's tick `tick` of rank `peer` has been performed when this returns kOk.
inline Status wait(const Call& call, int peer, std::int64_t on_tick, int tick, int launch) {
  const std::uint64_t target = call.base + static_cast<std::uint64_t>(on_tick);
  if (call.progress[peer]->load() >= target) return kOk;
  return call.wait_slow(call.runtime, peer, target, tick, launch);
}

// Publishes that this rank has performed `tick` of this call: everything it wrote before is visible
// to a rank that waited for it.
inline void signal(const Call& call, std::int64_t tick) {
  call.progress[call.rank]->store(call.base + static_cast<std::uint64_t>(tick));
}

// What the shared library of a module exports under the C name `coconet_module`.
struct Module {
  std::uint32_t abi_version = kAbiVersion;
  std::uint64_t plan_hash = 0;
  int buffers = 0;
  // Performs all ticks; *ticks receives their number, the same on every rank.
  Status (*run)(const Call&, std::int64_t* ticks) = nullptr;
  bool one_shot = false;  // Call::one_shot may be set
};

}  // namespace coconet::kernel
