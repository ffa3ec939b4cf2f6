// How a launch's work is divided among the threads of a rank.
//
// A thread takes whole runs of what the launch visits (space.h): a reduction along a run is never
// cut, and every element is made by the same statements, so results do not depend on the number of
// threads. What is done once a call (a value of a whole tensor) one thread does, or all compute and
// one stores. When the parts have ended the rank goes on with one thread: waits, ticks and signals
// are its alone.
#pragma once

#include <cstdint>

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/ranks.h"
#include "coconet/kernel/cpu/space.h"

namespace coconet::kernel {

// Where threads' parts of a dense buffer meet, in elements: of any type whole lines of the cache,
// and whole tiles (tile.h).
inline constexpr std::int64_t kPartElements = 256;

// Among how many threads so much work is divided; `elements`: work that takes as long as so many
// elements of a pointwise kernel.
inline int parts_of(const Call& call, std::int64_t elements) {
  if (call.threads == 1) return 1;
  return static_cast<int>(larger(1, smaller(call.threads, elements / call.grain)));
}

// The elements that take as long as so many multiplications of a product.
inline std::int64_t elements_of(double multiplications) {
  constexpr double kOfElement = 16, kMost = 1e18;
  const double elements = multiplications / kOfElement;
  return static_cast<std::int64_t>(elements < kMost ? elements : kMost);
}

// work(part) for each part, a Status.
template <class Work>
Status in_parts(const Call& call, int parts, const Work& work) {
  if (parts == 1) return work(0);
  const auto perform = [](const void* context, int part) {
    return (*static_cast<const Work*>(context))(part);
  };
  return call.divide(call.runtime, parts, perform, &work);
}

// Part `part` of `total` things, in multiples of `grain` unless threads are worth fewer elements.
inline Cut part_of(const Call& call, std::int64_t total, int parts, int part, std::int64_t grain) {
  return cut(total, parts, part, smaller(grain, call.grain));
}

// work(begin, count) for the parts of `total` things; `elements` as above, of all of them. What is
// empty is left out.
template <class Work>
Status in_cuts(const Call& call, std::int64_t total, std::int64_t grain, std::int64_t elements,
               const Work& work) {
  const int parts = parts_of(call, elements);
  if (parts == 1) return work(std::int64_t{0}, total);
  return in_parts(call, parts, [&](int part) {
    const Cut piece = part_of(call, total, parts, part, grain);
    return piece.count > 0 ? work(piece.begin, piece.count) : kOk;
  });
}

// The index in the piece of the first run of this width that begins at `index` or after it.
COCONET_ONCE inline std::int64_t run_begin(const Space& space, std::int64_t width,
                                           std::int64_t index) {
  const std::int64_t count = space.count();
  if (index <= 0) return 0;
  if (index >= count) return count;
  const std::int64_t global = global_of(space, index);
  if (global % width == 0 || global_of(space, index - 1) != global - 1) return index;
  const std::int64_t stretch = stretch_of(space, space.group, space.groups, index, count);
  return index + smaller(stretch, (global / width + 1) * width - global);
}

// Where a kernel's runs may be cut: see Runs.
enum class RunCut { anywhere, at_rows, at_blocks };

template <class Launch>
COCONET_ONCE Status divided_among_threads(const Ranks& ranks, const Space& space, RunCut where,
                                          const Launch& launch) {
  const std::int64_t count = space.count();
  const int parts = parts_of(ranks.call, count);
  if (parts == 1) return launch(ranks, space);
  const std::int64_t width = where == RunCut::at_blocks ? kBlockElements
                             : where == RunCut::at_rows ? space.sizes[space.dims - 1]
                                                        : 1;
  return in_parts(ranks.call, parts, [&](int part) {
    const Cut piece = part_of(ranks.call, count, parts, part, kPartElements);
    Space own = space;
    own.from = run_begin(space, width, piece.begin);
    own.to = run_begin(space, width, piece.begin + piece.count);
    return own.from < own.to ? launch(ranks, own) : kOk;
  });
}

// launch(ranks, space), of which each thread visits some runs.
template <class Launch>
Status divided(const Ranks& ranks, const Space& space, RunCut where, const Launch& launch) {
  if (ranks.call.threads == 1) return launch(ranks, space);
  return divided_among_threads(ranks, space, where, launch);
}

}  // namespace coconet::kernel
