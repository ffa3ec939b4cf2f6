// Buffers in memory of the caller's, which no other rank sees (PlanOptions::staged).
//
// What of a buffer only its own rank touches stays there: it is used in place. What other ranks
// read or write is *staged* in a temporary of the symmetric heap:
//
//   a launch reads x of peers   ->   x.in = x;  the launch reads x.in of peers
//   a launch writes p of peers  ->   the launch writes p.out of peers;  p = p.out
//
// A rank's own reads and writes of x and p stay as they are, so a state that is read by its own
// rank alone and written by all is copied once, after the write. The copies are kernels like
// others: waits, slots and lifetimes are derived for them as for any launch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coconet/plan/plan.h"
#include "coconet/plan/units.h"

namespace coconet::plan {

// Every input, state and output that has memory of its own; not scalars. What updates an input or
// state, and an output that is one, stands where that does.
std::vector<std::string> names_to_stage(const Graph& graph);

class Staging {
 public:
  // Marks the inputs and states of these names (Buffer::of_caller). UserError(usage) for a name
  // that is neither theirs nor an output's. An input or state goes before an output of its name.
  Staging(Plan& plan, const std::vector<std::string>& names);

  // Outputs of these names are to be marked.
  bool has_output(const std::string& name) const { return outputs_.contains(name); }
  // Marks the buffer of an output. If that is an input's or a state's, as of one that is updated,
  // it stands in memory of the caller's under either name.
  void mark(const Output& output, BufferId buffer);
  // Puts copies before and after the launches from `first` on, and forms an overlapped group of
  // them and what they meet, where chunks can be cut; the launches of an overlapped group of the
  // schedule are left to that (form_overlap_group). To be called for units in their order.
  void stage(const Unit& unit, int first);
  // The plan's notes say which copies are not made chunk by chunk.
  void note_whole_copies();

 private:
  void copy(BufferId from, BufferId to, NodeId origin, const std::string& name);
  void stage_reads(Launch& launch);
  std::vector<BufferId> stage_writes(Launch& launch);
  BufferId temporary(BufferId like, const std::string& suffix);
  bool is_staged(BufferId id) const { return plan_.buffer(id).of_caller; }

  Plan& plan_;
  std::set<std::string> outputs_;
  std::map<BufferId, NodeId> origins_;
  std::map<BufferId, BufferId> shared_;  // by buffer: what holds its value now for peers
  std::map<std::string, int> named_;     // by name: temporaries that got it
};

// The kernel moves each element of its space from one buffer of this rank to another, and nothing
// else.
bool is_copy(const Plan& plan, const Kernel& kernel);

}  // namespace coconet::plan
