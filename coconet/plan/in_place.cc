#include "coconet/plan/in_place.h"

#include <algorithm>

#include "coconet/plan/access.h"

namespace coconet::plan {
namespace {

// Every element of one stands where that of the other does.
bool stand_alike(const TensorType& a, const TensorType& b) {
  if (!(a.shape == b.shape) || size_of(a.dtype.kind) != size_of(b.dtype.kind)) return false;
  for (int axis = 0; axis < a.layout.axes(); ++axis) {
    if (a.layout.is<Rooted>(axis) || b.layout.is<Rooted>(axis)) return false;
  }
  const std::vector<int>& order = a.layout.slice_order();
  return order == b.layout.slice_order() && std::ranges::all_of(order, [&](int axis) {
           return a.layout.slice(axis) == b.layout.slice(axis);
         });
}

bool touches(const Plan& plan, const Launch& launch, BufferId buffer, bool write) {
  return std::ranges::any_of(accesses_of(plan, launch), [&](const Access& access) {
    return access.buffer == buffer && access.write == write;
  });
}

// The launch reads of the buffer, or writes to it, the elements that it is at, and so in chunks
// only those of the chunk.
bool by_elements(const Plan& plan, const Launch& launch, BufferId buffer) {
  const Kernel* kernel = std::get_if<Kernel>(&launch.work);
  if (!kernel || !(plan.buffer(buffer).type.shape == kernel->space.shape)) return false;
  const bool loads = std::ranges::all_of(kernel->statements, [&](const Statement& statement) {
    const Load* load = std::get_if<Load>(&statement.action);
    const FoldBuffer* fold = std::get_if<FoldBuffer>(&statement.action);
    if (fold && fold->buffer == buffer) return false;
    return !load || load->buffer != buffer || statement.level == Level::element;
  });
  return loads && std::ranges::all_of(kernel->stores, [&](const Store& store) {
           return store.buffer != buffer ||
                  kernel->statements[store.value.index].level == Level::element;
         });
}

// Nothing is read after the one store of an element.
bool stores_once(const Launch& launch) { return std::get<Kernel>(launch.work).stores.size() == 1; }

}  // namespace

std::vector<bool> written_buffers(const Plan& plan) {
  std::vector<bool> out(plan.buffers.size(), false);
  for (const Launch& launch : plan.launches) {
    for (const Access& access : accesses_of(plan, launch)) {
      if (access.write) out[access.buffer.index] = true;
    }
  }
  return out;
}

bool may_share_memory(const Plan& plan, BufferId read, BufferId written) {
  const bool alike = stand_alike(plan.buffer(read).type, plan.buffer(written).type);
  const bool stays = std::ranges::any_of(
      plan.outputs, [&](const PlanOutput& output) { return output.buffer == read; });
  if (stays || plan.buffer(written).role != BufferRole::temporary) return false;
  std::vector<const Launch*> writers;  // so far
  for (const Launch& launch : plan.launches) {
    const bool writes = touches(plan, launch, written, true);
    if (touches(plan, launch, read, false)) {
      if (!writers.empty()) return false;
      if (writes && !(alike && by_elements(plan, launch, read) &&
                      by_elements(plan, launch, written) && stores_once(launch))) {
        return false;
      }
    }
    if (writes) writers.push_back(&launch);
  }
  // Later chunks of a reader come after earlier ones of a writer of its group.
  return std::ranges::all_of(writers, [&](const Launch* writer) {
    return std::ranges::all_of(plan.launches, [&](const Launch& reader) {
      const bool together = reader.overlap >= 0 && reader.overlap == writer->overlap;
      if (!together || !touches(plan, reader, read, false)) return true;
      return alike && by_elements(plan, reader, read) && by_elements(plan, *writer, written);
    });
  });
}

}  // namespace coconet::plan
