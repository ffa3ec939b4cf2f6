// A kernel, statement by statement: the meaning of plan.h's Kernel, one element at a time.
//
// A step is a run, or a stretch of one that nothing is folded along. What is constant over the call
// is computed in the first step and, in the launch's last chunk, stored in the last.
#pragma once

#include "coconet/plan/visit.h"
#include "coconet/simulate/turn_work.h"
#include "coconet/type/list.h"

namespace coconet::simulate {

class KernelTurn : public TurnWork {
 public:
  KernelTurn(const Context& context, const plan::Turn& turn, int rank, const plan::Kernel& kernel);
  bool step() override;

 private:
  static constexpr int kNoPeer = -1;

  // Elements [begin, end) of the visit, a part of `run`.
  struct Segment {
    std::size_t begin = 0, end = 0;
    plan::Run run;
    std::size_t size() const { return end - begin; }
  };

  void cut_into_segments();
  // A scalar rooted elsewhere is not written; nor is one before the launch's last chunk.
  bool performs(const plan::Store& store) const;
  // What the stores that are performed need: other statements may read what this rank has not.
  void find_needed();
  void perform(plan::Level from, plan::Level to);
  void store_values(plan::Level from, plan::Level to);
  bool receives(const Shift& shift) const;  // some rank sends to this one
  // Statement `index` for the current segment; `peer`: the rank that a fold is at.
  void evaluate(int index, int peer);
  void load(int index, plan::BufferId buffer, int peer);
  void fold_peers(int index, const plan::FoldPeers& fold);
  void compute(int index, const plan::Compute& compute, int peer);
  void drop_out(int index, const Dropout& op, int peer);
  interp::ScalarValue fold_run(const plan::Statement& statement, Fold fold) const;
  void fold_buffer(int index, const plan::FoldBuffer& fold);
  void fold_members(int index, const plan::FoldBuffer& fold, const ListBlocks& list);
  interp::ScalarValue fold_at(const plan::Statement& statement, const plan::FoldBuffer& fold,
                              const std::vector<std::int64_t>& places) const;
  // Of elements [begin, end) of this rank's buffer.
  interp::ScalarValue fold_part(const plan::Statement& statement, const plan::FoldBuffer& fold,
                                std::int64_t begin, std::int64_t end) const;
  void count(int index, const plan::Count& count);
  interp::ScalarValue partial(const AsPartial& op, const interp::ScalarValue& value,
                              int rank) const;

  std::size_t count_of(plan::Level level) const {
    return level == plan::Level::element ? segment_.size() : 1;
  }
  const interp::ScalarValue& value(plan::ValueId id, std::size_t i) const;
  std::int64_t place(plan::Level level, std::size_t i, plan::BufferId buffer, int owner) const;
  // The row-major index of the visited element, run or call in the tensor of a graph node.
  std::int64_t flat(plan::Level level, std::size_t i, NodeId node) const;
  // The per-peer statements that a fold needs, ascending.
  std::vector<int> needs_of(int fold) const;
  const plan::Statement& statement(int index) const { return kernel_.statements[index]; }

  const Context& context_;
  const plan::BoundPlan& bound_;
  const plan::Turn& turn_;
  int rank_;
  Actor actor_;
  const plan::Kernel& kernel_;
  plan::Visit visit_;
  std::vector<Segment> segments_;
  std::size_t next_ = 0;
  bool begun_ = false;
  Segment segment_;                                       // the current one
  std::vector<bool> needed_;                              // by statement
  std::vector<std::vector<interp::ScalarValue>> values_;  // [statement][element]
};

}  // namespace coconet::simulate
