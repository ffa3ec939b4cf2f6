#include "coconet/execute/given.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "coconet/base/error.h"
#include "coconet/kernel/dropout.h"

namespace coconet::execute {

using plan::BufferRole;

namespace {

// Four words at a time, as inputs may be gigabytes.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t lanes[4] = {bytes.size(), 1, 2, 3};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof lanes) {
    std::uint64_t words[4] = {};
    std::memcpy(words, bytes.data() + at, std::min(sizeof words, bytes.size() - at));
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] = std::rotl(lanes[lane] ^ words[lane], 29) * kOdd;
    }
  }
  std::uint64_t out = 0;
  for (const std::uint64_t lane : lanes) out = kernel::mix(out ^ lane);
  return out;
}

void check_dims(const Graph& graph, const Sizes& sizes) {
  const std::vector<std::string>& dims = graph.header().dims;
  const auto need = [&](const std::string& name) {
    const std::vector<std::string>& axes = graph.mesh().axes;  // which have sizes too: with_axes
    if (std::ranges::count(dims, name) + std::ranges::count(axes, name) > 0) return;
    std::string all;
    for (const std::string& dim : dims) all += (all.empty() ? "" : ", ") + dim;
    throw UserError(ErrorKind::usage, "found a size of " + name + "; there is no dim " + name +
                                          "; the program has " + (all.empty() ? "none" : all));
  };
  for (const auto& [name, size] : sizes) need(name);
  for (const auto& [name, members] : sizes.lists) need(name);
}

}  // namespace

std::vector<std::int64_t> dims_of(const Graph& graph, const Sizes& sizes) {
  check_dims(graph, sizes);
  std::vector<std::int64_t> out;
  for (const std::string& name : graph.header().dims) {
    const auto size = sizes.find(name);
    const auto list = sizes.lists.find(name);
    out.push_back(list != sizes.lists.end() ? static_cast<std::int64_t>(list->second.size())
                  : size == sizes.end()     ? 0
                                            : size->second);
  }
  return out;
}

void GivenInputs::check(int rank) const {
  std::string missing;
  for (std::size_t b = 0; b < given_.size(); ++b) {
    const BufferRole role = plan_.buffers[b].role;
    const bool needed = role == BufferRole::input || role == BufferRole::scalar;
    if (!needed || given_[b]) continue;
    missing += (missing.empty() ? "" : ", ") + plan_.buffers[b].name;
  }
  if (missing.empty()) return;
  throw UserError(ErrorKind::usage,
                  "rank " + std::to_string(rank) + " calls without a value of " + missing +
                      "; needed is each before the first call: in RunRequest::inputs, or "
                      "written to own(name) (in C PROGRAM_tensor) or to memory given to bind");
}

std::uint64_t hash_of_replicated(
    const plan::Plan& plan, const std::function<std::span<const std::byte>(int buffer)>& place) {
  std::uint64_t hash = 0;
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    if (buffer.role == BufferRole::temporary || !buffer.type.layout.all_replicated()) continue;
    hash = kernel::mix(hash ^ hash_of(place(b)));
  }
  return std::max<std::uint64_t>(1, hash);  // 0 means not checked
}

}  // namespace coconet::execute
