// How kernel_text prints: which values get a line, in which loop, and under which name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coconet/source/cpp/kernel_text.h"

namespace coconet::source::cpp {

// The kernel does something for each element or run.
bool visits(const plan::Kernel& kernel);

// A kernel's element-level values are computed in one or more loops over a tile. Loop s + 1 begins
// where a reduction over the run of values of loop s is needed. A value that a later loop or a
// reduction needs goes through a Scratch.
class KernelPrinter {
 public:
  KernelPrinter(const plan::Plan& plan, int launch, const plan::Kernel& kernel, Pieces& pieces,
                const BufferNames& buffers);
  std::string text();

 private:
  using Id = int;                                 // index of a statement
  static constexpr const char* kIndent = "    ";  // of what is done for a tile
  const plan::Statement& at(Id id) const { return kernel_.statements[id]; }
  template <class Action>
  const Action* is(Id id) const {
    return std::get_if<Action>(&at(id).action);
  }

  // analysis (kernel_analysis.cc)
  void find_loops();
  bool is_cast_load(Id id) const;
  int first_reader(Id id) const;
  bool is_alias(Id id) const;
  int origin_of(Id id) const;  // the value itself, unless it is an alias
  void find_inlined();
  bool is_quickly_made(Id id) const;
  int printed_in(Id id) const;
  void find_uses();
  void find_early_stores();
  bool is_touched_after(const plan::Store& store) const;
  void choose_names();
  bool has_line(Id id) const;  // a variable of its own, not part of its one reader's expression
  bool has_scratch(Id id) const;
  std::string wanted_name(Id id) const;

  // text
  void print_preamble();
  void print_call_values();
  void print_scratches();
  void print_tile();
  void print_fold(Id id, const std::string& indent);
  void print_loop(int loop);
  void print_run_values(int loop);
  void print_run_stores();
  void print_call_stores();
  void line(const std::string& indent, const std::string& text) { out_ += indent + text + "\n"; }

  std::string expression(Id id);  // of the value, as its readers write it
  std::string definition(Id id);  // of what computes it
  std::string compute_definition(Id id);
  std::string pointwise_text(Id id, PointwiseFn fn);
  std::string dropout_text(Id id);
  std::string load_text(Id id);
  std::string element_text(plan::BufferId buffer) const {  // this rank's, that a loop is at
    return names_of(buffer) + "[" + names_of(buffer) + "_i + i]";
  }
  std::string rounded_text(Id id, const std::string& text) const;
  std::string local_hash(Id dropout) const;
  std::string names_of(plan::BufferId buffer) const { return buffers_.of[buffer.index]; }
  std::string storage(plan::BufferId buffer) const;
  std::string widened(plan::BufferId buffer, const std::string& text) const;
  std::string stored(plan::BufferId buffer, const std::string& text) const;
  static std::string bare(const std::string& text);  // without the parentheses around all of it
  bool is_over_list() const { return kernel_.space.is_list() && !kernel_.space.is_scalar_list(); }
  bool moves(plan::BufferId buffer) const;  // its index moves along a run
  // Its values of a peer are widened a tile at a time, as that is quicker than one by one.
  bool widens_tiles(Id load) const;
  // A fold across the members of a list of tensors.
  const plan::FoldBuffer* across(Id id) const {
    const auto* fold = is<plan::FoldBuffer>(id);
    return fold && plan_.is_across_members(*fold) ? fold : nullptr;
  }
  // Computed for a whole tile at once, before the loops.
  bool fills_tile(Id id) const {
    return at(id).level == plan::Level::element && (is<plan::FoldPeers>(id) || across(id));
  }
  // A dropout whose random words are made for a whole tile at once, before the loops.
  bool makes_words(Id id) const;
  std::string across_text(Id id, const std::string& more);
  std::string tile_size_text() const;
  std::string for_each_text() const;

  // stores (kernel_stores.cc)
  static bool reaches(const plan::Store& store) { return store.all || store.to; }  // other ranks
  bool is_element(const plan::Store& store) const;
  std::string tile_of_store(const plan::Store& store) const;
  // As widens_tiles: its values are rounded a tile at a time.
  bool rounds_tiles(const plan::Store& store) const;
  std::string reads_text(const plan::Store& store) const;
  std::string receivers_text(const plan::Store& store) const;

  const plan::Plan& plan_;
  int launch_;
  const plan::Kernel& kernel_;
  Pieces& pieces_;
  const BufferNames& buffers_;
  std::vector<int>
      loop_;  // by statement: the loop that computes it, or before which a run value is computed
  int loops_ = 1;
  std::vector<int> uses_;
  std::vector<bool> needs_scratch_;
  std::vector<bool> inlined_;  // by statement: stands in the reduction that reads it
  // By statement: the store that its own loop makes, from whose buffer later loops read it.
  std::vector<const plan::Store*> kept_in_;
  std::vector<std::string> name_;
  std::map<std::string, std::string> layouts_;  // the Spaces of buffers, by what makes them
  int now_ = 0;                                 // the loop being printed
  bool in_fold_ = false;
  std::string out_;
};

}  // namespace coconet::source::cpp
