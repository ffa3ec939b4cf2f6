#include "coconet/execute/job.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "coconet/execute/memory_need.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/plan/one_shot.h"
#include "coconet/runtime/memory.h"

namespace coconet::execute {

using plan::Buffer;
using plan::BufferRole;

namespace {

// What a rank gives with its entry: of more it is quicker to wait and to read
// (docs/performance.md).
constexpr std::size_t kMostExchangedBytes = 512;

}  // namespace

Job::Job(const Compiled& compiled, const RunRequest& request, const Inputs& inputs, bool complete,
         const SymmetricPlaces& symmetric)
    : compiled_(compiled),
      request_(request),
      given_(inputs),
      bound_(plan::bind(compiled.plan(), request.setting.sizes, request.setting.mesh,
                        request.knobs.chunks)),
      module_(compiled.load()),
      ranks_(request.setting.mesh.ranks()),
      lists_(compiled.plan(), request.setting.sizes),
      slots_(slots_of(bound_)),
      returned_(returned_of(compiled.plan())) {
  plan::check_chunks(compiled.plan(), request.knobs.chunks);
  need_threads(request.knobs.threads);
  find_symmetric(symmetric);
  find_inputs(complete);
  dims_ = dims_of(compiled.plan().graph, request.setting.sizes);
  choose_small();
}

void Job::need_memory(std::uint64_t results) const {
  std::uint64_t memory = results;
  for (const runtime::BufferNeed& need : slots_) memory += need.bytes * ranks_;
  runtime::need_memory(memory, "the ranks");
}

runtime::LaunchOptions Job::launch_options() const {
  runtime::LaunchOptions options;
  options.ranks = ranks_;
  options.kind = request_.kind;
  options.data_bytes = runtime::symmetric_bytes(slots_);
  options.plan_hash = compiled_.plan_hash();
  options.communicator.timeout = request_.timeout;
  options.communicator.threads = threads_of(request_);
  if (request_.thread_grain > 0) options.communicator.thread_grain = request_.thread_grain;
  options.join_timeout =
      std::min<std::chrono::milliseconds>(request_.timeout, options.join_timeout);
  return options;
}

void Job::find_inputs(bool complete) {
  const Graph& graph = plan().graph;
  interp::check_names(graph, given_);
  for (int b = 0; b < static_cast<int>(plan().buffers.size()); ++b) {
    const Buffer& buffer = plan().buffers[b];
    if (buffer.role == BufferRole::temporary) continue;
    const NodeId node = graph.find(buffer.name);
    const auto given = given_.find(buffer.name);
    if (given != given_.end()) {
      interp::check_pieces(buffer.type, request_.setting, given->second, "input " + buffer.name);
      inputs_[b] = &given->second;
    } else if (complete || std::get<Input>(graph.node(node).op).default_value) {
      inputs_[b] =
          &defaults_.emplace_back(interp::input_value(graph, node, given_, request_.setting));
    }
  }
}

void Job::find_symmetric(const SymmetricPlaces& places) {
  for (const auto& [name, place] : places) {
    const int buffer = find_buffer(name);
    need_symmetric(name, buffer, place);
    symmetric_[buffer] = place;
  }
  // Slots of which nothing is used take no memory.
  std::vector<bool> used(slots_.size(), false);
  for (int b = 0; b < static_cast<int>(plan().buffers.size()); ++b) {
    if (!symmetric_.contains(b)) used[plan().buffers[b].slot] = true;
  }
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!used[slot]) slots_[slot].bytes = 0;
  }
}

void Job::need_symmetric(const std::string& name, int buffer, const SymmetricPlace& place) const {
  const auto refuse = [&](const std::string& found) {
    throw UserError(ErrorKind::usage, name + ": found " + found);
  };
  if (plan().buffers[buffer].of_caller) refuse("symmetric memory; it is staged");
  if (place.memory->ranks() != ranks_) {
    refuse("symmetric memory of " + std::to_string(place.memory->ranks()) +
           " ranks; needed is that of " + std::to_string(ranks_));
  }
  if (place.offset % kSymmetricAlignment != 0) {
    refuse("a place at byte " + std::to_string(place.offset) + "; needed is a multiple of " +
           std::to_string(kSymmetricAlignment));
  }
  std::size_t bytes = 0;
  for (int rank = 0; rank < ranks_; ++rank) bytes = std::max(bytes, held_bytes(buffer, rank));
  if (place.offset > place.memory->bytes() || bytes > place.memory->bytes() - place.offset) {
    refuse("symmetric memory of " + std::to_string(place.memory->bytes()) +
           " bytes; needed at byte " + std::to_string(place.offset) + " are " +
           std::to_string(bytes) + ", the largest of all ranks' pieces");
  }
  for (const auto& [other, used] : symmetric_) {
    std::size_t others = 0;
    for (int rank = 0; rank < ranks_; ++rank) others = std::max(others, held_bytes(other, rank));
    const bool apart = used.memory != place.memory || used.offset + others <= place.offset ||
                       place.offset + bytes <= used.offset;
    if (other != buffer && apart) continue;
    refuse("a place that overlaps that of " + plan().buffers[other].name +
           "; needed are places apart");
  }
}

void Job::choose_small() {
  if (ranks_ == 1 || !request_.knobs.one_shot.value_or(true) || !plan::allows_one_shot(plan()))
    return;
  read_of_peers_ = plan::exchangeable(plan());
  std::size_t bytes = 0;  // the same on all ranks
  for (const plan::BufferId read : read_of_peers_) bytes += held_bytes(read.index, 0);
  exchanged_ = !read_of_peers_.empty() &&
               (request_.knobs.one_shot || bytes <= kMostExchangedBytes) &&
               runtime::Exchange::fits(ranks_, bytes, read_of_peers_.size());
  one_shot_ = exchanged_ || request_.knobs.one_shot || plan::one_rank_does_all(bound_);
}

std::string Job::launch_text(int launch) const {
  if (launch < 0 || launch >= static_cast<int>(plan().launches.size())) return "the end";
  const plan::Launch& at = plan().launches[launch];
  return at.where.known() ? at.name + " at " + at.where.text() : at.name;
}

int Job::find_buffer(const std::string& name) const {
  std::string there;
  const std::vector<Buffer>& buffers = plan().buffers;
  for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
    if (buffers[b].role == BufferRole::temporary) continue;
    if (buffers[b].name == name) return b;
    there += (there.empty() ? "" : ", ") + buffers[b].name;
  }
  for (const Returned& returned : returned_) {
    if (returned.name == name) return returned.buffer;
    if (!returned.storage) there += (there.empty() ? "" : ", ") + returned.name;
  }
  throw UserError(ErrorKind::usage,
                  "the program has no input, state or output " + name + "; there are " + there);
}

int Job::find_constant(const std::string& name) const {
  const int buffer = find_buffer(name);
  const auto written = [&](const Returned& returned) { return returned.buffer == buffer; };
  if (plan().buffers[buffer].role == BufferRole::input &&
      std::none_of(returned_.begin(), returned_.end(), written)) {
    return buffer;
  }
  throw UserError(ErrorKind::usage, "found " + name + "; only an input that no call writes can " +
                                        "be held constant");
}

std::size_t Job::held_bytes(int buffer, int rank) const {
  const TensorType& type = plan().buffers[buffer].type;
  return bound_.piece(type, rank).count() * size_of(type.dtype.kind);
}

JobRank::JobRank(const Job& job, runtime::Communicator& communicator, std::shared_ptr<void> memory)
    : job_(job),
      communicator_(communicator),
      buffers_(communicator, job.slots_, std::move(memory)),
      bindings_(job.bound_, communicator.rank()),
      given_(job.plan()) {
  for (const auto& [buffer, pieces] : job.inputs_) given_.give(buffer);
  communicator.describe_launches([&job](int launch) { return job.launch_text(launch); });
  for (const Buffer& buffer : job.plan().buffers) {
    const auto slot =
        buffers_.addresses().subspan(std::size_t(buffer.slot) * job.ranks_, job.ranks_);
    addresses_.insert(addresses_.end(), slot.begin(), slot.end());
    if (buffer.of_caller) *(addresses_.end() - job.ranks_ + rank()) = nullptr;
  }
  for (const auto& [buffer, place] : job.symmetric_) {
    for (int peer = 0; peer < job.ranks_; ++peer) {
      addresses_[std::size_t(buffer) * job.ranks_ + peer] = place.of(peer);
    }
    given_.give(buffer);
  }
  constant_.resize(job.plan().buffers.size());
  arguments_ = {.mesh_sizes = job.request_.setting.mesh.sizes,
                .dims = job.dims_,
                .lists = job.lists_.tables(),
                .knobs = job.bound_.knobs,
                .seed = job.request_.setting.seed,
                .inputs_hash = 0,
                .address = addresses_,
                .constant = constant_,
                .one_shot = job.one_shot_,
                .threads = job.request_.knobs.threads};
  if (job.exchanged_) exchange_inputs();
}

void JobRank::place_inputs() {
  for (int b = 0; b < static_cast<int>(constant_.size()); ++b) set_constant(b, 0);
  for (const auto& [b, pieces] : job_.inputs_) {
    const interp::Bytes& piece = (*pieces)[rank()];
    if (piece.empty() || !has_place(b)) continue;
    std::memcpy(place(b).data(), piece.data(), piece.size());
  }
}

void JobRank::check_inputs() {
  if (!first_) return;
  bindings_.check();
  given_.check(rank());
  if (!job_.request_.check_inputs || arguments_.inputs_hash != 0) return;
  arguments_.inputs_hash =
      hash_of_replicated(job_.plan(), [this](int buffer) { return place(buffer); });
}

void JobRank::bind(const std::string& name, std::span<std::byte> memory) {
  need_callers_memory(name, memory);
  const int buffer = bindings_.bind(name, memory);
  given_.give(buffer);
  set_constant(buffer, 0);
  addresses_[std::size_t(buffer) * job_.ranks_ + rank()] = memory.data();
}

void JobRank::hold_constant(const std::string& name) {
  static std::atomic<std::uint64_t> latest{0};
  set_constant(job_.find_constant(name), kernel::MatmulCall::kConstant | ++latest);
}

std::size_t JobRank::bytes(const std::string& name) const {
  return job_.held_bytes(job_.find_buffer(name), communicator_.rank());
}

void JobRank::bind_all() {
  for (const std::string& name : bindings_.names()) {
    if (has_place(bindings_.buffer(name))) continue;  // another name of it
    const std::size_t shift = bindings_.alignment(name);
    std::vector<std::byte>& memory = memory_.emplace_back(shift + bindings_.bytes(name));
    bind(name, std::span(memory).subspan(shift));
  }
}

bool JobRank::has_place(int buffer) const {
  return addresses_[std::size_t(buffer) * job_.ranks_ + communicator_.rank()] != nullptr;
}

std::span<std::byte> JobRank::place(int buffer) const {
  if (bindings_.has(buffer)) return bindings_.memory(buffer);
  const std::size_t bytes = job_.held_bytes(buffer, communicator_.rank());
  const auto symmetric = job_.symmetric_.find(buffer);
  if (symmetric != job_.symmetric_.end()) return {symmetric->second.of(rank()), bytes};
  return buffers_.own(job_.plan().buffers[buffer].slot).first(bytes);
}

void JobRank::call() {
  check_inputs();
  bindings_.check();
  runtime::run_call(communicator_, job_.module_.module(), arguments_);
  arguments_.inputs_hash = 0;
  first_ = false;
}

std::span<std::byte> JobRank::own(const std::string& name) {
  const int buffer = job_.find_buffer(name);
  given_.give(buffer);
  return place(buffer);
}

std::span<std::byte> JobRank::own(const std::string& name, DTypeKind dtype) {
  const DTypeKind found = job_.plan().buffers[job_.find_buffer(name)].type.dtype.kind;
  if (found == dtype) return own(name);
  throw UserError(ErrorKind::usage, name + " has dtype " + std::string(name_of(found)) +
                                        "; found a call for " + std::string(name_of(dtype)));
}

void JobRank::need_callers_memory(const std::string& name,
                                  std::span<const std::byte> memory) const {
  for (const Buffer& buffer : job_.plan().buffers) {
    if (!buffer.of_caller) need_apart(name, memory, buffer.name, buffers_.own(buffer.slot));
  }
  for (const auto& [buffer, place] : job_.symmetric_) {
    need_apart(name, memory, job_.plan().buffers[buffer].name, this->place(buffer));
  }
}

void JobRank::set_constant(int buffer, std::uint64_t number) {
  constant_[std::size_t(buffer)] = number;
  bindings_.hold_constant(buffer, number != 0);
}

// What peers' inputs are read from are copies that come with their entries.
void JobRank::exchange_inputs() {
  std::vector<std::span<const std::byte>> given;
  for (const plan::BufferId read : job_.read_of_peers_) given.push_back(place(read.index));
  exchange_.emplace(job_.ranks_, std::move(given));
  for (std::size_t part = 0; part < job_.read_of_peers_.size(); ++part) {
    for (int peer = 0; peer < job_.ranks_; ++peer) {
      if (peer == rank()) continue;
      const int buffer = job_.read_of_peers_[part].index;
      addresses_[std::size_t(buffer) * job_.ranks_ + peer] = exchange_->received(peer, part);
    }
  }
  arguments_.exchange = &*exchange_;
}

}  // namespace coconet::execute
