// --want out=FILE[:NAME] --bound ABS[,REL]: comparing results with given values.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "coconet/io/tensor_data.h"

namespace coconet::cli {

struct Want {
  std::string name;    // of an output or state
  std::string source;  // as typed, for messages
  TensorData value;
  double absolute = 0, relative = 0;  // |got - want| <= absolute + relative |want|
};

struct WantResult {
  bool within_bound = true;
  double max_difference = 0;  // infinite where only one is NaN or infinite
  std::string where;          // the element furthest beyond its bound, as "[1,7]"
  std::string found;          // what is there: "got 0.5, want 0.25"
};

// A --bound belongs to the --want of the same position; one --bound alone to all. UserError for a
// file that cannot be read.
std::vector<Want> read_wants(const RunArguments& arguments);
// UserError(data) unless the wanted value has this shape.
void check_shape(const Want& want, const std::vector<std::int64_t>& shape);
// Requires: the shapes are equal.
WantResult compare(const TensorData& got, const Want& want);

}  // namespace coconet::cli
