// The C++ form of schedules.
//
//   Scheduler s(program);
//   auto [rs, ag] = s.split(total);
//   auto [body, gather] = s.reorder(ag, {drop, out});
//   auto ar = s.fuse(rs, body, gather);
//   s.overlap(layer, ar);
//
// The program's own tensors name its values at every step, whatever became of them.
#pragma once

#include <array>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "coconet/program/program.h"
#include "coconet/schedule/apply.h"

namespace coconet {

// What a step takes and returns: a value, a body or a group, by its name.
class Part {
 public:
  Part(const Tensor& tensor) : name_(tensor.name()) {}  // NOLINT: converts
  explicit Part(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;  // empty: a tensor without a name, which no step takes
};

// The first of several parts, with the place of the call.
struct FirstPart {
  Part part;
  std::source_location at;
  FirstPart(const Tensor& tensor,  // NOLINT: converts
            std::source_location at = std::source_location::current())
      : part(tensor), at(at) {}
  FirstPart(const Part& part,  // NOLINT: converts
            std::source_location at = std::source_location::current())
      : part(part), at(at) {}
};

// Applies steps one after the other; each call adds one. UserError(schedule), at the place of the
// call, for a step that is not legal; the schedule is then as before. Results get names of their
// own (rs, ag, body, gather, ...).
class Scheduler {
 public:
  using At = std::source_location;

  explicit Scheduler(const Program& program, const std::string& name = "schedule");
  explicit Scheduler(const Graph& graph, const std::string& name = "schedule");

  // reduce_scatter, all_gather.
  std::array<Part, 2> split(const Part& all_reduce, std::optional<Slice> slice = std::nullopt,
                            At at = At::current());
  // reduce, broadcast.
  std::array<Part, 2> split_reduce_broadcast(const Part& all_reduce, At at = At::current());
  // reduce_scatter, all_reduce, all_gather.
  std::array<Part, 3> split_hierarchical(const Part& all_reduce,
                                         std::optional<Slice> slice = std::nullopt,
                                         At at = At::current());
  // shard, all_gather. Without an axis: the one that fits.
  std::array<Part, 2> distribute(const Part& value, std::optional<Slice> slice = std::nullopt,
                                 const Axes& axes = {}, At at = At::current());
  // The body, then the gathers, of which there must be that many:
  //   auto [body, gm, gp] = s.reorder<2>(ag, {m2, p2});
  template <int Gathers = 1>
  std::array<Part, Gathers + 1> reorder(const Part& gather, const std::vector<Part>& operations,
                                        At at = At::current()) {
    return reorder<Gathers>(std::vector<Part>{gather}, operations, at);
  }
  template <int Gathers = 1>
  std::array<Part, Gathers + 1> reorder(const std::vector<Part>& gathers,
                                        const std::vector<Part>& operations,
                                        At at = At::current()) {
    std::vector<std::string> wanted(Gathers + 1, "gather");
    wanted[0] = "body";
    return as_array<Gathers + 1>(
        take("reorder", {list_of(gathers), list_of(operations)}, wanted, at));
  }
  void as_slice(const Part& state, At at = At::current());
  void as_rooted(const Part& state, At at = At::current());
  void dead(const Part& gather, At at = At::current());
  template <class... Parts>
  Part fuse(const FirstPart& first, const Parts&... more) {
    return take("fuse", {named(first.part), named(Part(more))...}, {"fused_part"}, first.at)[0];
  }
  template <class... Parts>
  Part overlap(const FirstPart& first, const Parts&... more) {
    return take("overlap", {named(first.part), named(Part(more))...}, {"pipeline"}, first.at)[0];
  }

  const Graph& graph() const { return applied_.graph; }
  Exactness exactness() const { return applied_.exactness; }
  const Schedule& schedule() const { return schedule_; }

 private:
  static StepArgument named(const Part& part) { return part.name(); }
  static StepArgument list_of(const std::vector<Part>& parts);
  // Applies a step whose results get names made from `wanted`.
  std::vector<Part> take(const std::string& verb, std::vector<StepArgument> arguments,
                         const std::vector<std::string>& wanted, At at);
  template <std::size_t Count>
  static std::array<Part, Count> as_array(const std::vector<Part>& parts) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<Part, Count>{parts.at(I)...};
    }
    (std::make_index_sequence<Count>{});
  }

  Applied applied_;
  Schedule schedule_;
};

}  // namespace coconet
