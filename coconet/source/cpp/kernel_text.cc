#include "coconet/source/cpp/kernel_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "coconet/plan/staging.h"
#include "coconet/source/cpp/kernel_printer.h"

namespace coconet::source::cpp {

using plan::FoldBuffer;
using plan::FoldPeers;
using plan::Level;
using plan::Load;
using plan::ReduceRun;
using plan::RunWidth;
using plan::Statement;
using plan::Store;

namespace {

// Tiles of 8 KiB at most, which threads' stacks have room for.
constexpr std::size_t kMostOnStack = 64;

// A row is one tile: something is folded over it, or stored once for it.
bool whole_rows(const plan::Kernel& kernel) {
  if (kernel.width != RunWidth::row) return false;
  const auto once = [&](const Store& store) {
    return kernel.statements[store.value.index].level == Level::run;
  };
  return std::ranges::any_of(kernel.stores, once) ||
         std::ranges::any_of(kernel.statements, [](const Statement& statement) {
           return std::holds_alternative<ReduceRun>(statement.action);
         });
}

}  // namespace

bool visits(const plan::Kernel& kernel) {
  return std::ranges::any_of(kernel.stores, [&](const Store& store) {
    return kernel.statements[store.value.index].level != Level::call;
  });
}

std::string run_cut_text(const plan::Kernel& kernel) {
  if (!visits(kernel)) return "";
  if (kernel.width == RunWidth::block) return "RunCut::at_blocks";
  return whole_rows(kernel) ? "RunCut::at_rows" : "RunCut::anywhere";
}

KernelPrinter::KernelPrinter(const plan::Plan& plan, int launch, const plan::Kernel& kernel,
                             Pieces& pieces, const BufferNames& buffers)
    : plan_(plan), launch_(launch), kernel_(kernel), pieces_(pieces), buffers_(buffers) {
  find_loops();
  find_inlined();
  find_uses();
  find_early_stores();
  choose_names();
}

std::string KernelPrinter::text() {
  out_ = "COCONET_ONCE Status launch_" + std::to_string(launch_) +
         "(const Ranks& ranks, [[maybe_unused]] const Space& space" +
         (touches_ring(plan_, launch_) ? ", const ChunkTurn& turn" : "") + ") {\n";
  print_preamble();
  print_call_values();
  if (visits(kernel_)) {
    print_scratches();
    print_tile();
  }
  print_call_stores();
  line("  ", "return kOk;");
  return out_ + "}\n\n";
}

// The buffers: where they stand and how this rank's piece of each is laid out.
void KernelPrinter::print_preamble() {
  line("  ", "const Call& call = ranks.call;");
  std::set<std::string> groups;
  std::set<int> laid_out, pointed;
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (const auto* fold = is<FoldPeers>(id)) {
      groups.insert("const Peers " + peers_name(plan_.graph.mesh(), fold->axes) +
                    " = ranks.peers(" + axes_text(fold->axes) + ");");
    }
    if (const auto* load = is<Load>(id)) {
      if (at(id).level != Level::call) laid_out.insert(load->buffer.index);
      if (!at(id).per_peer && at(id).level != Level::call) pointed.insert(load->buffer.index);
    }
  }
  for (const Store& store : kernel_.stores) {
    if (at(store.value.index).level != Level::call && !store.held) {
      laid_out.insert(store.buffer.index);
    }
    if (store.held) {
      const std::string piece = pieces_.function_of(plan_.buffer(store.buffer).type);
      line("  ", "const auto held_" + names_of(store.buffer) + " = [](const Ranks& of) { return " +
                     piece + "(of); };");
    }
    if (store.all) {
      groups.insert("const Peers " + peers_name(plan_.graph.mesh(), *store.all) +
                    " = ranks.peers(" + axes_text(*store.all) + ");");
    } else if (!store.to) {
      pointed.insert(store.buffer.index);
    }
  }
  for (const std::string& group : groups) line("  ", group);
  const auto lay_out = [&](const TensorType& type, const std::string& name) {
    const std::string piece = pieces_.of(type);
    const auto [layout, fresh] = layouts_.try_emplace(piece, "at_" + name);
    if (fresh) line("  ", "const Space " + layout->second + " = " + piece + ";");
  };
  for (int b : laid_out) {
    lay_out(plan_.buffers[b].type, names_of({b}));
    if (plan_.buffers[b].ring == 0) continue;
    const std::string layout = layouts_.at(pieces_.of(plan_.buffers[b].type));
    line("  ",
         "const std::int64_t ring_" + names_of({b}) + " = " + ring_text(plan_, {b}, layout) + ";");
  }
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (across(id)) lay_out(plan_.graph.node(at(id).origin).type, name_[id]);
  }
  for (int b : pointed) {
    const std::string name = names_of({b}), type = storage({b});
    line("  ", type + "* const " + name + " = pointer<" + type + ">(call, buffer::" + name +
                   ", call.rank);");
  }
}

// In order: a dropout stands before the values that use it, after the rate that it takes.
void KernelPrinter::print_call_values() {
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (at(id).per_peer) continue;
    const auto* compute = is<plan::Compute>(id);
    const auto* dropout = compute ? std::get_if<Dropout>(&compute->op) : nullptr;
    if (dropout) {
      const std::string rate = expression(at(id).inputs[1].index);
      line("  ", "COCONET_TRY(check_rate(call, " + std::to_string(launch_) + ", " + rate + "));");
      line("  ", "const Dropout dropout_" + std::to_string(id) + "(call.seed, call.call_number, " +
                     std::to_string(dropout->site) + ", " + local_hash(id) + ", " + rate + ");");
    }
    if (at(id).level != Level::call || !has_line(id)) continue;
    if (is<FoldPeers>(id)) {
      line("  ", compute_type(at(id).dtype.kind) + " " + name_[id] + ";");
      print_fold(id, "  ");
      continue;
    }
    const auto* load = is<Load>(id);
    const std::string value =
        load ? widened(load->buffer, "*pointer<" + storage(load->buffer) + ">(call, buffer::" +
                                         names_of(load->buffer) + ", call.rank)")
             : bare(definition(id));
    line("  ", "const " + compute_type(at(id).dtype.kind) + " " + name_[id] + " = " + value + ";");
  }
}

void KernelPrinter::print_scratches() {
  std::vector<std::pair<std::string, std::string>> scratches;  // types and names
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (!has_scratch(id) || at(id).level != Level::element) continue;
    scratches.emplace_back("Scratch<" + compute_type(at(id).dtype.kind) + ">", name_[id] + "_tile");
  }
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (!makes_words(id)) continue;
    scratches.emplace_back("Scratch<std::uint32_t>", "dropout_" + std::to_string(id) + "_words");
  }
  std::set<int> widened;
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (!widens_tiles(id) || !widened.insert(std::get<Load>(at(id).action).buffer.index).second) {
      continue;
    }
    const plan::BufferId buffer = std::get<Load>(at(id).action).buffer;
    scratches.emplace_back("Widened<" + storage(buffer) + ">", names_of(buffer) + "_wide");
  }
  for (const Store& store : kernel_.stores) {
    if (!reaches(store) || !is_element(store)) continue;
    scratches.emplace_back("Scratch<" + storage(store.buffer) + ">", tile_of_store(store));
    if (rounds_tiles(store)) {
      scratches.emplace_back("Scratch<float>", tile_of_store(store) + "_wide");
    }
  }
  const std::string heap = scratches.size() > kMostOnStack ? "Heap" : "";
  for (const auto& [type, name] : scratches) {
    line("  ", heap + type + " " + name + "(" + tile_size_text() + ");");
  }
}

// The most elements of a tile.
std::string KernelPrinter::tile_size_text() const {
  if (kernel_.width == RunWidth::block) return "kBlockElements";
  return whole_rows(kernel_) ? "space.sizes[space.dims - 1]" : "kTile";
}

std::string KernelPrinter::for_each_text() const {
  switch (kernel_.width) {
    case RunWidth::piece: return "for_each_tile(space, 0, ";
    case RunWidth::row:
      return whole_rows(kernel_) ? "for_each_row(space, " : "for_each_row_tile(space, ";
    case RunWidth::block: return "for_each_tile(space, kBlockElements, ";
  }
  throw InternalError("a RunWidth outside its enumerators");
}

void KernelPrinter::print_tile() {
  line("  ", for_each_text() +
                 "[&](const Run& run, [[maybe_unused]] std::int64_t offset, std::int64_t count) {");
  // Where the tile begins in each buffer.
  std::set<int> indexed;
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    const auto* load = is<Load>(id);
    if (load && at(id).level != Level::call) indexed.insert(load->buffer.index);
  }
  for (const Store& store : kernel_.stores) {
    if (at(store.value.index).level != Level::call && !store.held) {
      indexed.insert(store.buffer.index);
    }
  }
  std::map<std::string, std::string> known;  // names by index: buffers laid out alike share one
  for (int b : indexed) {
    const std::string& layout = layouts_.at(pieces_.of(plan_.buffers[b].type));
    const bool block = plan_.buffers[b].type.rank() == 1 &&
                       plan_.buffers[b].type.shape[0].is_blocks() &&
                       !(kernel_.space.shape == plan_.buffers[b].type.shape);
    const std::string name = names_of({b});
    const bool member = is_over_list() && plan_.buffers[b].type.is_scalar_list();
    const std::string index =
        member
            ? list_text(plan_, kernel_.space.shape[0]) + ".member_of[run.global / kBlockElements]"
        : block ? "run.global / kBlockElements - " + layout + ".group[0].begin"
                : "index_in(" + layout + ", run.coordinates, space.dims)" +
                      (moves({b}) ? " + offset" : "") +
                      (plan_.buffers[b].ring > 0 ? " + ring_" + name : "");
    const auto [first, fresh] = known.try_emplace(index, name + "_i");
    line(kIndent, "[[maybe_unused]] const std::int64_t " + name +
                      "_i = " + (fresh ? index : first->second) + ";");
  }
  if (is_over_list() && loops_ > 1) {
    line(kIndent, "const std::int64_t valid = valid_in(" +
                      list_text(plan_, kernel_.space.shape[0]) + ", run.global / kBlockElements);");
  }
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (!makes_words(id)) continue;
    const std::string dropout = "dropout_" + std::to_string(id);
    line(kIndent, dropout + ".words(static_cast<std::uint64_t>(run.global + offset), count, " +
                      dropout + "_words.data());");
  }
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (!fills_tile(id)) continue;
    if (is<FoldPeers>(id)) print_fold(id, kIndent);
    const std::string tile = " + offset, count, " + name_[id] + "_tile.data()";
    if (across(id)) line(kIndent, across_text(id, tile) + ";");
  }
  for (int loop = 0; loop < loops_; ++loop) {
    now_ = loop;
    print_run_values(loop);
    print_loop(loop);
  }
  print_run_stores();
  line("  ", "});");
}

// The fold over peers: of each peer, a function of the element.
void KernelPrinter::print_fold(Id id, const std::string& indent) {
  const auto& fold = *is<FoldPeers>(id);
  const Id value = at(id).inputs[0].index;
  const bool element = at(id).level == Level::element;
  std::vector<bool> part(loop_.size(), false);
  part[value] = true;
  std::map<int, bool> buffers;  // whether tiles are widened
  for (Id s = value; s >= 0; --s) {
    if (!part[s]) continue;
    for (plan::ValueId input : at(s).inputs) part[input.index] = true;
    const auto* load = is<Load>(s);
    if (load && at(s).per_peer) buffers[load->buffer.index] = widens_tiles(s);
  }
  const bool slots = std::ranges::any_of(buffers, [](const auto& buffer) { return buffer.second; });
  line(indent, "fold_peers<" + fold_type(fold.fold) + ", " + storage_type(at(id).dtype.kind) +
                   ">(" + peers_name(plan_.graph.mesh(), fold.axes) + ", " +
                   (element ? "count, " + name_[id] + "_tile.data()" : "1, &" + name_[id]) +
                   ", [&]([[maybe_unused]] int peer, int" + (slots ? " slot" : "") + ") {");
  for (Id s = 0; s <= value; ++s) {
    const auto* compute = is<plan::Compute>(s);
    const auto* dropout = compute ? std::get_if<Dropout>(&compute->op) : nullptr;
    if (!part[s] || !dropout || !at(s).per_peer) continue;
    const std::string rate = expression(at(s).inputs[1].index);
    line(indent, "  const Dropout dropout_" + std::to_string(s) + "(call.seed, call.call_number, " +
                     std::to_string(dropout->site) + ", " + local_hash(s) + ", " + rate + ");");
  }
  for (const auto& [b, widens] : buffers) {
    const std::string name = names_of({b}), type = storage({b});
    const bool indexed = element && !plan_.buffers[b].type.is_scalar();
    const std::string from = "pointer<" + type + ">(call, buffer::" + name + ", peer)" +
                             (indexed ? " + " + name + "_i" : "");
    if (widens) {
      line(indent,
           "  const float* " + name + " = " + name + "_wide.tile(slot, " + from + ", count);");
    } else {
      line(indent, "  const " + type + "* " + name + " = " + from + ";");
    }
  }
  line(indent, "  return [=]([[maybe_unused]] std::int64_t i) {");
  in_fold_ = true;
  for (Id s = 0; s < value; ++s) {
    if (!part[s] || !at(s).per_peer || !has_line(s)) continue;
    line(indent, "    const " + compute_type(at(s).dtype.kind) + " " + name_[s] + " = " +
                     bare(definition(s)) + ";");
  }
  const std::string result =
      at(value).per_peer || is<Load>(value) ? definition(value) : expression(value);
  in_fold_ = false;
  line(indent, "    return " + bare(result) + ";");
  line(indent, "  };");
  line(indent, "});");
}

void KernelPrinter::print_run_values(int loop) {
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (at(id).level != Level::run || loop_[id] != loop || !has_line(id)) continue;
    const std::string type = compute_type(at(id).dtype.kind);
    if (const auto* reduce = is<ReduceRun>(id)) {
      const Id of = at(id).inputs[0].index;
      line(kIndent, "const " + type + " " + name_[id] + " = reduce_row<" + fold_type(reduce->fold) +
                        (is_over_list() ? ">(valid" : ">(count") +
                        ", [&](std::int64_t i) { return " + expression(of) + "; });");
    } else {
      line(kIndent, "const " + type + " " + name_[id] + " = " + bare(definition(id)) + ";");
    }
  }
}

void KernelPrinter::print_loop(int loop) {
  std::string body;
  std::swap(body, out_);
  const std::string indent = std::string(kIndent) + "  ";
  for (Id id = 0; id < static_cast<Id>(loop_.size()); ++id) {
    if (at(id).level != Level::element || loop_[id] != loop || !has_line(id)) continue;
    if (at(id).per_peer || fills_tile(id)) continue;
    line(indent, "const " + compute_type(at(id).dtype.kind) + " " + name_[id] + " = " +
                     bare(definition(id)) + ";");
    if (has_scratch(id)) line(indent, name_[id] + "_tile[i] = " + name_[id] + ";");
    if (kept_in_[id]) line(indent, element_text(kept_in_[id]->buffer) + " = " + name_[id] + ";");
  }
  if (loop == loops_ - 1) {
    for (const Store& store : kernel_.stores) {
      if (!is_element(store) || kept_in_[store.value.index] == &store) continue;
      const std::string exact = expression(store.value.index);
      if (rounds_tiles(store)) {
        line(indent, tile_of_store(store) + "_wide[i] = " + bare(exact) + ";");
        continue;
      }
      const std::string to =
          reaches(store) ? tile_of_store(store) + "[i]" : element_text(store.buffer);
      line(indent, to + " = " + stored(store.buffer, exact) + ";");
    }
  }
  std::swap(body, out_);
  if (body.empty()) return;
  line(kIndent, "COCONET_LOOP");
  line(kIndent, "for (std::int64_t i = 0; i < count; ++i) {");
  out_ += body;
  line(kIndent, "}");
}

namespace {

std::string copy_text(const plan::Plan& plan, int launch, const plan::Kernel& kernel,
                      Pieces& pieces, const BufferNames& buffers) {
  const auto pointer = [&](plan::BufferId id) {
    return "pointer<" + storage_type(plan.buffer(id).type.dtype.kind) +
           ">(call, buffer::" + buffers.of[id.index] + ", call.rank)";
  };
  const auto place = [&](plan::BufferId id) {
    return pointer(id) + ", " + (plan.buffer(id).ring > 0 ? ring_text(plan, id, "layout") : "0");
  };
  const plan::BufferId from = std::get<Load>(kernel.statements[0].action).buffer;
  const plan::BufferId to = kernel.stores[0].buffer;
  return "COCONET_ONCE Status launch_" + std::to_string(launch) +
         "(const Ranks& ranks, const Space& space" +
         (touches_ring(plan, launch) ? ", const ChunkTurn& turn" : "") +
         ") {\n  const Call& call = ranks.call;\n  const Space layout = " +
         pieces.of(plan.buffer(to).type) + ";\n  copy_space(space, layout, " + place(from) +
         ",\n             " + place(to) + ");\n  return kOk;\n}\n\n";
}

}  // namespace

std::string kernel_text(const plan::Plan& plan, int launch, const plan::Kernel& kernel,
                        Pieces& pieces, const BufferNames& buffers) {
  if (is_copy(plan, kernel)) return copy_text(plan, launch, kernel, pieces, buffers);
  return KernelPrinter(plan, launch, kernel, pieces, buffers).text();
}

}  // namespace coconet::source::cpp
