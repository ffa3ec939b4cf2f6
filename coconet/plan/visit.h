// Which elements a rank visits in one turn, and where they stand in the buffers: from type/piece.h
// alone, so that it can check the geometry that generated code has of its own.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coconet/plan/bind.h"

namespace coconet::plan {

using Coordinates = std::vector<std::int64_t>;  // one a dim of a global tensor

Coordinates coordinates_of(const std::vector<std::int64_t>& sizes, std::int64_t flat);
// The held element of `piece` at coordinates of a tensor of as many or more dims, right-aligned,
// dims of size 1 taken at 0; -1 if the piece does not hold it.
std::int64_t held_at(const Piece& piece, const Coordinates& at);
// As held_at, for the row-major index in a tensor of these sizes.
std::int64_t flat_at(const std::vector<std::int64_t>& sizes, const Coordinates& at);

// Visited elements [begin, end) of Visit::elements. `at`: where what is one a run stands: the
// coordinates of a row with its column 0, or the number of the block.
struct Run {
  std::size_t begin = 0, end = 0;
  Coordinates at;
  // Of a block of a list: its member, and how many of its elements are the member's.
  std::int64_t member = -1, valid = 0;
};

// Where a buffer of this type has what is one a run: of a list of scalars, the run's member.
Coordinates place_of(const Run& run, const TensorType& buffer, const Kernel& kernel);

// The coordinates of many elements of one tensor, one behind the other: there may be millions.
class CoordinatesList {
 public:
  explicit CoordinatesList(std::size_t dims = 0) : dims_(dims) {}
  std::size_t size() const { return size_; }
  Coordinates operator[](std::size_t i) const { return {row(i), row(i) + dims_}; }
  void get(std::size_t i, Coordinates& out) const { out.assign(row(i), row(i) + dims_); }
  void reserve(std::size_t count) { all_.reserve(count * dims_); }
  void push_back(const Coordinates& at) {
    all_.insert(all_.end(), at.begin(), at.end());
    ++size_;
  }

 private:
  const std::int64_t* row(std::size_t i) const { return all_.data() + i * dims_; }

  std::size_t dims_, size_ = 0;
  std::vector<std::int64_t> all_;
};

struct Visit {
  // Of the visited elements in the space's global tensor, ascending by flat index.
  CoordinatesList elements;
  std::vector<Run> runs;
  bool away = false;  // the space is rooted at another rank: nothing is done, not even once
};

// What `rank` visits of a kernel's space in a turn. Rows of no elements are runs too.
Visit visit_of(const BoundPlan& bound, const Kernel& kernel, const Turn& turn, int rank);

// Calls touch(coordinates) for each place that a value of this level has in the visit, in a buffer
// of this type.
template <class Touch>
void for_each_place(const Visit& visit, const Kernel& kernel, Level level, const TensorType& type,
                    const Touch& touch) {
  if (level == Level::call && !visit.away) touch(Coordinates{});
  if (level == Level::run) {
    for (const Run& run : visit.runs) touch(place_of(run, type, kernel));
  }
  if (level == Level::element) {
    Coordinates at;
    for (std::size_t i = 0; i < visit.elements.size(); ++i) {
      visit.elements.get(i, at);
      touch(at);
    }
  }
}

// Of every rank.
std::vector<Piece> pieces_of(const BoundPlan& bound, BufferId buffer);

// The elements of this rank's buffers that a turn of a product or reduction reads; of a kernel,
// nothing.
std::set<std::pair<BufferId, std::int64_t>> tensor_reads(const BoundPlan& bound, const Turn& turn,
                                                         int rank);

// Calls visit(index in x's piece, index in w's piece) for every product of which the output at `at`
// is the sum, in the order of the input channels, then the window's rows, then its columns; -1 of x
// for the zeros around it. Requires: the pieces hold what the output needs.
template <class Visitor>
void for_each_product(const Conv2d& op, const Piece& x, const Piece& w, const Coordinates& at,
                      const Visitor& visit) {
  const std::vector<std::int64_t>&sizes = x.sizes(), &window = w.sizes();
  for (std::int64_t c = 0; c < sizes[1]; ++c) {
    if (held_at(w, {at[1], c, 0, 0}) < 0) continue;
    for (std::int64_t kh = 0; kh < window[2]; ++kh) {
      for (std::int64_t kw = 0; kw < window[3]; ++kw) {
        const std::int64_t row = at[2] * op.stride + kh - op.padding;
        const std::int64_t column = at[3] * op.stride + kw - op.padding;
        const bool inside = row >= 0 && row < sizes[2] && column >= 0 && column < sizes[3];
        visit(inside ? held_at(x, {at[0], c, row, column}) : -1, held_at(w, {at[1], c, kh, kw}));
      }
    }
  }
}

// The ranks whose buffers a store of this rank writes.
std::vector<int> written_by(const BoundPlan& bound, const Store& store, int rank);

// "rank 2 in launch 3 (ar), chunk 1".
std::string text_of(const Plan& plan, const Turn& turn, int rank);

// The held elements of the launch's chunked_type, of `rank`, that belong to the turn; ascending.
std::vector<std::int64_t> held_in_turn(const BoundPlan& bound, const Piece& piece,
                                       const Turn& turn);

}  // namespace coconet::plan
