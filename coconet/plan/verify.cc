#include "coconet/plan/verify.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "coconet/plan/access.h"
#include "coconet/plan/order.h"

namespace coconet::plan {
namespace {

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan), written_(plan.buffers.size(), false) {}

  void run() {
    for (std::size_t b = 0; b < written_.size(); ++b) {
      written_[b] = plan_.buffers[b].role != BufferRole::temporary;
      if (plan_.buffers[b].slot < 0) fail("buffer " + plan_.buffers[b].name + " has no slot");
    }
    for (const OverlapGroup& group : plan_.overlaps) verify_group(group);
    for (now_ = 0; now_ < launches(); ++now_) {
      ids_exist();
      verify_waits(launch().waits);
      verify_writes();
      std::visit(
          Overloaded{
              [&](const Kernel& kernel) { verify_kernel(kernel); },
              [&](const MatmulLaunch& m) { expect(m.out != m.a && m.out != m.b, kOwnInput); },
              [&](const Conv2dLaunch& c) { expect(c.out != c.x && c.out != c.w, kOwnInput); },
              [&](const ReduceLaunch& r) { expect(r.out != r.in, kOwnInput); },
              [&](const MoveLaunch& m) {
                for (BufferId in : m.in) expect(m.out != in, kOwnInput);
              },
          },
          launch().work);
    }
    verify_waits(plan_.exit_waits);
    for (const Wait& wait : plan_.exit_waits) {
      expect(wait.on.valid(), "the exit waits for launches");
    }
    for (const PlanOutput& output : plan_.outputs) {
      expect(in_range(output.buffer), "output " + output.name + " has a buffer");
      expect(written_[output.buffer.index], "output " + output.name + " is written");
    }
    verify_slots();
    verify_rings();
    verify_caller_buffers();
  }

 private:
  static constexpr const char* kOwnInput = "a launch does not write what it reads";

  int launches() const { return static_cast<int>(plan_.launches.size()); }
  const Launch& launch() const { return plan_.launches[now_]; }
  bool in_range(BufferId id) const {
    return id.valid() && id.index < static_cast<int>(plan_.buffers.size());
  }

  [[noreturn]] void fail(const std::string& what) const {
    const std::string where = now_ < 0 || now_ >= launches()
                                  ? "plan"
                                  : "launch " + std::to_string(now_) + " (" + launch().name + ")";
    throw InternalError(where + ": " + what);
  }
  void expect(bool holds, const std::string& what) const {
    if (!holds) fail("does not hold: " + what);
  }

  void verify_group(const OverlapGroup& group) const {
    expect(group.first.valid() && group.first <= group.last && group.last.index < launches(),
           "an overlapped group has launches");
    expect(group.slice.first == 0 || group.slice.flat, "chunks are of leading dims or blocks");
    for (int l = group.first.index; l <= group.last.index; ++l) {
      const int index = plan_.launches[l].overlap;
      expect(index >= 0 && &plan_.overlaps.at(index) == &group, "a group's launches know it");
    }
  }

  void ids_exist() const {
    const int group = launch().overlap;
    expect(group < static_cast<int>(plan_.overlaps.size()), "the group exists");
    if (group >= 0) {
      const OverlapGroup& of = plan_.overlaps[group];
      expect(of.first.index <= now_ && now_ <= of.last.index, "a launch stands in its group");
    }
    if (const Kernel* kernel = std::get_if<Kernel>(&launch().work)) {
      const int count = static_cast<int>(kernel->statements.size());
      for (const Statement& s : kernel->statements) {
        const Load* load = std::get_if<Load>(&s.action);
        expect(!load || in_range(load->buffer), "a buffer exists");
      }
      for (const Store& store : kernel->stores) {
        expect(in_range(store.buffer), "a buffer exists");
        expect(store.value.valid() && store.value.index < count, "a stored value exists");
      }
    }
    for (const Access& access : accesses_of(plan_, launch())) {
      expect(in_range(access.buffer), "a buffer exists");
      axes_exist(access.reach);
    }
  }

  void axes_exist(const AxisList& axes) const {
    for (int axis : axes) {
      expect(axis >= 0 && axis < plan_.graph.mesh().size(), "an axis exists");
    }
  }

  void verify_waits(const std::vector<Wait>& waits) const {
    for (const Wait& wait : waits) {
      expect(!wait.axes.empty(), "a wait has axes");
      axes_exist(wait.axes);
      if (!wait.on.valid()) {
        expect(!wait.same_chunk, "the entry has no chunks");
        continue;
      }
      expect(wait.on.index < launches(), "a launch exists");
      expect(wait.behind == 0 || (wait.behind > 0 && wait.same_chunk), "a chunk is before another");
      if (wait.behind > 0 && now_ < launches()) {
        expect(is_turn_before(plan_, wait.on, LaunchId{now_}, wait.behind),
               "a wait is on an earlier turn");
      } else {
        expect(wait.on.index < now_, "a wait is on an earlier launch");
      }
      expect(plan_.launch(wait.on).signals, "launch " + std::to_string(wait.on.index) + " (" +
                                                plan_.launch(wait.on).name +
                                                "), which is waited for, signals");
      const int group = now_ < launches() ? launch().overlap : -1;
      const bool inside = group >= 0 && plan_.launch(wait.on).overlap == group;
      expect(wait.same_chunk == inside, "chunks wait for chunks of their own group");
    }
  }

  // Inside a group, what an earlier launch of it writes is read chunk by chunk.
  void verify_writes() {
    const std::vector<Access> accesses = accesses_of(plan_, launch());
    for (const Access& access : accesses) {
      const Buffer& buffer = plan_.buffer(access.buffer);
      expect(access.write || written_[access.buffer.index], buffer.name + " is written before");
      expect(access.reach.empty() || buffer.symmetric, buffer.name + " is symmetric");
      expect(!access.write || buffer.role != BufferRole::scalar, "scalars are not written");
    }
    for (const Access& access : accesses) {
      if (access.write) written_[access.buffer.index] = true;
    }
  }

  void verify_kernel(const Kernel& kernel) const {
    const int count = static_cast<int>(kernel.statements.size());
    int fold = count - 1;  // the last over the peers, or -1
    while (fold >= 0 && !std::holds_alternative<FoldPeers>(kernel.statements[fold].action)) --fold;
    for (int i = 0; i < count; ++i) verify_statement(kernel, i, fold);
    for (const Store& store : kernel.stores) {
      const Statement& value = kernel.statements[store.value.index];
      const Buffer& buffer = plan_.buffer(store.buffer);
      expect(value.dtype.kind == buffer.type.dtype.kind, buffer.name + " gets values of its dtype");
      expect(!value.per_peer, "a value of a peer is not stored");
      verify_in_place(kernel, store);
    }
  }

  void verify_statement(const Kernel& kernel, int index, int fold) const {
    const Statement& s = kernel.statements[index];
    const std::string value = "%" + std::to_string(index);
    const bool folds_peers = std::holds_alternative<FoldPeers>(s.action);
    const bool folds_run = std::holds_alternative<ReduceRun>(s.action);
    if (folds_peers || folds_run) expect(s.inputs.size() == 1, value + " folds one value");
    for (ValueId input : s.inputs) {
      expect(input.valid() && input.index < index, value + " reads values before it");
      const Statement& from = kernel.statements[input.index];
      expect(!from.per_peer || s.per_peer || folds_peers, value + " is of the peer it reads");
      if (!folds_run) expect(from.level <= s.level, value + " is as fine as what it reads");
    }
    if (folds_run) {
      expect(s.level == Level::run && kernel.width != RunWidth::piece, value + " is one a run");
    }
    expect(!folds_peers || !s.per_peer, "a fold is not inside another");
    expect(!s.per_peer || index < fold, value + " feeds a fold over the peers");
  }

  void verify_in_place(const Kernel& kernel, const Store& store) const {
    const Level level = kernel.statements[store.value.index].level;
    const bool element = plan_.buffer(store.buffer).type.shape == kernel.space.shape;
    const bool has_runs = std::ranges::any_of(kernel.stores, [&](const Store& other) {
      return kernel.statements[other.value.index].level != Level::call;
    });
    for (const Statement& s : kernel.statements) {
      if (const auto* fold = std::get_if<FoldBuffer>(&s.action)) {
        expect(fold->buffer != store.buffer, kOwnInput);
      }
      const Load* load = std::get_if<Load>(&s.action);
      if (!load || load->buffer != store.buffer) continue;
      const bool same = s.level == level && (level != Level::element || element) &&
                        (level != Level::call || !has_runs);
      const bool own = !s.per_peer && !store.to && !store.held;
      expect(same && own, "a kernel reads what it writes at that very element: " +
                              plan_.buffer(store.buffer).name);
    }
  }

  void verify_caller_buffers() const {
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (!buffer.of_caller) continue;
      expect(!buffer.symmetric, buffer.name + " is in the caller's memory and no peer reaches it");
      const bool output = std::ranges::any_of(
          plan_.outputs, [&](const PlanOutput& one) { return one.buffer == BufferId{b}; });
      expect(output || buffer.role != BufferRole::temporary,
             buffer.name + " is in the caller's memory, which has a name");
    }
  }

  void verify_slots() const {
    std::vector<const Buffer*> order;
    for (const Buffer& buffer : plan_.buffers) order.push_back(&buffer);
    std::stable_sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) {
      return std::tie(a->slot, a->first) < std::tie(b->slot, b->first);
    });
    for (std::size_t b = 0; b < order.size(); ++b) {
      const Buffer& one = *order[b];
      expect(one.first <= one.last, one.name + " is used first before last");
      if (b + 1 == order.size() || one.slot != order[b + 1]->slot) continue;
      const Buffer& other = *order[b + 1];
      if (one.last < other.first && one.role == BufferRole::temporary &&
          other.role == BufferRole::temporary && !one.of_caller && !other.of_caller) {
        continue;
      }
      fail("does not hold: " + one.name + " and " + other.name +
           " share memory at different times");
    }
  }

  void verify_rings() {
    std::map<BufferId, std::vector<std::pair<LaunchId, bool>>> uses;  // and whether it writes
    for (now_ = 0; now_ < launches(); ++now_) {
      for (const Access& access : accesses_of(plan_, launch())) {
        const Buffer& buffer = plan_.buffer(access.buffer);
        if (buffer.ring == 0) continue;
        const int group = launch().overlap;
        expect(buffer.ring > 0 && buffer.role == BufferRole::temporary && group >= 0 &&
                   buffer.first == plan_.overlaps[group].first &&
                   buffer.last == plan_.overlaps[group].last,
               buffer.name + ", a ring, lives in one overlapped group");
        uses[access.buffer].emplace_back(LaunchId{now_}, access.write);
      }
    }
    for (const PlanOutput& output : plan_.outputs) {
      expect(plan_.buffer(output.buffer).ring == 0, "an output is no ring");
    }
    for (const auto& [buffer, of] : uses) verify_ring(plan_.buffer(buffer), of);
  }

  void verify_ring(const Buffer& buffer, const std::vector<std::pair<LaunchId, bool>>& uses) {
    for (const auto& [write, writes] : uses) {
      now_ = write.index;
      for (const auto& [use, also] : uses) {
        expect(!writes || is_turn_before(plan_, use, write, buffer.ring),
               buffer.name + ", a ring, holds a chunk until launch " + std::to_string(use.index) +
                   " has touched it");
      }
    }
  }

  const Plan& plan_;
  std::vector<bool> written_;  // by buffer
  int now_ = -1;               // launch; the number of launches: at the exit
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

}  // namespace coconet::plan
