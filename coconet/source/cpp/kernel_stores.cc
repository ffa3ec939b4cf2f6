#include "coconet/source/cpp/kernel_printer.h"

namespace coconet::source::cpp {

using plan::Level;
using plan::Store;

bool KernelPrinter::is_element(const Store& store) const {
  return at(store.value.index).level == Level::element;
}

// Whose buffers a store that reaches other ranks writes.
std::string KernelPrinter::receivers_text(const Store& store) const {
  if (!store.to) return peers_name(plan_.graph.mesh(), *store.all);
  return "ranks.shifted(" + std::to_string(store.to->axes[0]) + ", " +
         std::to_string(store.to->by) + ", " + (store.to->wrap ? "true" : "false") + ")";
}

bool KernelPrinter::rounds_tiles(const Store& store) const {
  return reaches(store) && is_element(store) &&
         plan_.buffer(store.buffer).type.dtype.kind == DTypeKind::f16;
}

std::string KernelPrinter::tile_of_store(const Store& store) const {
  return "to_" + names_of(store.buffer);
}

// An argument: whether the kernel reads what it writes.
std::string KernelPrinter::reads_text(const Store& store) const {
  for (const plan::Statement& statement : kernel_.statements) {
    const auto* load = std::get_if<plan::Load>(&statement.action);
    if (load && load->buffer == store.buffer) return ", Reads::yes";
  }
  return ", Reads::no";
}

void KernelPrinter::print_run_stores() {
  now_ = loops_ - 1;
  for (const Store& store : kernel_.stores) {
    const Id id = store.value.index;
    const std::string name = names_of(store.buffer), type = storage(store.buffer);
    if (rounds_tiles(store)) {
      const std::string tile = tile_of_store(store);
      line(kIndent, "round_each(" + tile + "_wide.data(), " + tile + ".data(), count);");
    }
    if (store.held) {
      line(kIndent, "store_held(ranks, " + receivers_text(store) + ", held_" + name +
                        ", buffer::" + name + reads_text(store) + ", run.global + offset, " +
                        tile_of_store(store) + ".data(), count);");
    } else if (at(id).level == Level::element && reaches(store)) {
      line(kIndent, "store_all(call, " + receivers_text(store) + ", buffer::" + name +
                        reads_text(store) + ", " + name + "_i, " + tile_of_store(store) +
                        ".data(), count);");
    }
    if (at(id).level != Level::run) continue;
    const std::string value = stored(store.buffer, expression(id));
    if (reaches(store)) {
      line(kIndent, "const " + type + " to_" + name + " = " + value + ";");
      line(kIndent, "store_all(call, " + receivers_text(store) + ", buffer::" + name +
                        reads_text(store) + ", " + name + "_i, &to_" + name + ", 1);");
    } else {
      line(kIndent, name + "[" + name + "_i] = " + value + ";");
    }
  }
}

void KernelPrinter::print_call_stores() {
  for (const Store& store : kernel_.stores) {
    const Id id = store.value.index;
    if (at(id).level != Level::call) continue;
    const std::string name = names_of(store.buffer), type = storage(store.buffer);
    const std::string value = stored(store.buffer, expression(id));
    // A scalar has no element away from its root; of several threads one stores.
    const std::string when = kernel_.space.shape.empty() ? "if (!space.empty_here) "
                             : visits(kernel_)           ? "if (space.from == 0) "
                                                         : "";
    if (reaches(store)) {
      line("  ", "const " + type + " to_" + name + " = " + value + ";");
      line("  ", when + "store_all(call, " + receivers_text(store) + ", buffer::" + name +
                     reads_text(store) + ", 0, &to_" + name + ", 1);");
    } else {
      line("  ", when + "*" + name + " = " + value + ";");
    }
  }
}

}  // namespace coconet::source::cpp
