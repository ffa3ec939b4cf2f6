// Compiled programs: runs on ranks that coconet starts, and this process as one rank of a job.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <thread>

#include "coconet/execute/join.h"
#include "coconet/execute/memory_need.h"
#include "coconet/execute/run.h"
#include "coconet/schedule/apply.h"
#include "python/bindings/arrays.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/given.h"
#include "python/bindings/interrupt.h"
#include "python/bindings/parts.h"
#include "python/bindings/pieces.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coconet::python {
namespace {

std::chrono::milliseconds milliseconds_of(double seconds) {
  constexpr double kMost = 1e9;
  if (!(seconds > 0 && seconds <= kMost)) {
    throw UserError(ErrorKind::usage, "found a timeout of " + std::to_string(seconds) +
                                          " seconds; needed is one above 0, at most 1e9");
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3) + 1);
}

// What all calls of a job have alike, from the keywords of run and join.
execute::RunRequest request_of(const Graph& graph, nb::handle ranks, const nb::dict& sizes,
                               std::uint64_t seed, int threads, double timeout,
                               const std::string& protocol,
                               const std::vector<std::int64_t>& chunks) {
  execute::RunRequest out;
  out.setting.mesh = mesh_of(graph.mesh(), ranks);
  out.setting.sizes = sizes_of(sizes);
  out.setting.seed = seed;
  out.threads = threads;
  out.timeout = milliseconds_of(timeout);
  out.knobs.chunks = chunks;
  if (protocol == "one-shot" || protocol == "direct") {
    out.knobs.one_shot = protocol == "one-shot";
  } else if (protocol != "auto") {
    throw UserError(ErrorKind::usage,
                    "found the protocol '" + protocol + "'; legal: one-shot, direct, auto");
  }
  return out;
}

nb::object result_of(const TensorType& type, const interp::Pieces& pieces,
                     const interp::Setting& setting) {
  if (!type.is_list()) return array_of(execute::gather(type, pieces, setting));
  nb::list out;
  for (TensorData& member : execute::gather_members(type, pieces, setting)) {
    out.append(array_of(std::move(member)));
  }
  return out;
}

// (outputs, states and updated inputs, microseconds[call][rank]).
nb::tuple results_of(const Graph& graph, const execute::RunResult& result,
                     const interp::Setting& setting) {
  nb::dict outputs, storage;
  for (const Output& output : graph.outputs()) {
    outputs[output.name.c_str()] =
        result_of(graph.node(output.node).type, result.outputs.at(output.name), setting);
  }
  for (const auto& [name, pieces] : result.storage) {
    storage[name.c_str()] = result_of(graph.node(graph.find(name)).type, pieces, setting);
  }
  return nb::make_tuple(outputs, storage, nb::cast(result.microseconds));
}

nb::tuple run(const execute::Compiled& compiled, const nb::dict& inputs, nb::handle ranks,
              const nb::dict& sizes, std::uint64_t seed, int repeat, int threads,
              const std::string& protocol, const std::vector<std::int64_t>& chunks,
              double timeout) {
  const Graph& graph = compiled.plan().graph;
  execute::RunRequest request =
      request_of(graph, ranks, sizes, seed, threads, timeout, protocol, chunks);
  request.repeat = repeat;
  execute::GlobalTensors given = given_of(graph, inputs);
  need_tensors(graph, given);
  request.setting.sizes =
      execute::bind_dims(graph, given, request.setting.mesh, request.setting.sizes);
  give_zero_states(graph, request.setting, given);
  execute::RunResult result;
  interruptible([&] {
    execute::need_memory_of_run(compiled.plan(), request.setting, chunks, given);
    request.inputs = execute::distribute(graph, given, request.setting);
    result = execute::run(compiled, request);
  });
  return results_of(graph, result, request.setting);
}

// What a rank is made of: there as long as an array over its memory.
struct Joined {
  std::shared_ptr<const execute::Compiled> compiled;
  std::unique_ptr<execute::RankCalls> calls;
};

class Rank {
 public:
  Rank(std::shared_ptr<const execute::Compiled> compiled, const execute::RunRequest& request,
       const execute::JoinRequest& where)
      : setting_(request.setting), thread_(std::this_thread::get_id()) {
    joined_ = std::make_shared<Joined>(std::move(compiled), nullptr);
    joined_->calls = execute::join(*joined_->compiled, request, where);
  }

  execute::RankCalls& calls() {
    if (!joined_) throw UserError(ErrorKind::usage, "found a rank that has left its job");
    return *joined_->calls;
  }

  void call() {
    execute::RankCalls& mine = calls();
    if (std::this_thread::get_id() != thread_) {
      throw UserError(
          ErrorKind::usage,
          "found a call by another thread than the one that joined; needed is that one");
    }
    const nb::gil_scoped_release release;
    mine.call();
  }

  void leave() {
    bound_.clear();
    joined_.reset();
  }

  void bind(const std::string& name, nb::handle array) {
    const std::span<std::byte> memory = memory_of(name, array, type(name).dtype.kind, shape(name));
    calls().bind(name, memory);
    bound_[name] = nb::borrow(array);
  }

  nb::object own(const std::string& name) {
    const std::span<std::byte> memory = calls().own(name);
    const nb::capsule owner(new std::shared_ptr<Joined>(joined_), [](void* held) noexcept {
      delete static_cast<std::shared_ptr<Joined>*>(held);
    });
    return array_over(memory, type(name).dtype.kind, shape(name), owner);
  }

  // Of an input, state or output.
  const TensorType& type(const std::string& name) {
    calls().bytes(name);  // refuses another name
    const Graph& graph = joined_->compiled->plan().graph;
    for (const Output& output : graph.outputs()) {
      if (output.name == name) return graph.node(output.node).type;
    }
    return graph.node(graph.find(name)).type;
  }

  std::vector<std::int64_t> shape(const std::string& name) {
    return shape_of_piece(type(name), setting_, calls().rank());
  }

  std::int64_t first(const std::string& name) {
    const Piece piece = interp::piece_of(type(name), setting_, calls().rank());
    return piece.count() == 0 ? 0 : piece.global(0);
  }

 private:
  interp::Setting setting_;
  std::thread::id thread_;
  std::shared_ptr<Joined> joined_;
  std::map<std::string, nb::object> bound_;  // the arrays that calls read or write
};

// By name: the memory, and the byte where it begins.
using Symmetric =
    std::map<std::string, std::pair<std::shared_ptr<runtime::SymmetricMemory>, std::size_t>>;

std::unique_ptr<Rank> join(const std::shared_ptr<execute::Compiled>& compiled,
                           const std::string& job, int rank, nb::handle ranks,
                           const nb::dict& sizes, std::uint64_t seed, int threads,
                           const std::string& protocol, const std::vector<std::int64_t>& chunks,
                           double timeout, double join_timeout, const Symmetric& symmetric) {
  const execute::RunRequest request =
      request_of(compiled->plan().graph, ranks, sizes, seed, threads, timeout, protocol, chunks);
  execute::JoinRequest where{job, rank, milliseconds_of(join_timeout), {}};
  for (const auto& [name, place] : symmetric) where.symmetric[name] = {place.first, place.second};
  const nb::gil_scoped_release release;
  return std::make_unique<Rank>(compiled, request, where);
}

std::shared_ptr<runtime::SymmetricMemory> make_symmetric(const std::string& name, int rank,
                                                         int ranks, std::size_t bytes,
                                                         double timeout) {
  const std::chrono::milliseconds wait = milliseconds_of(timeout);
  const nb::gil_scoped_release release;
  return std::make_shared<runtime::SymmetricMemory>(name, rank, ranks, bytes, wait);
}

// Bytes of this rank's, as an array that keeps the memory.
nb::object symmetric_array(nb::handle self) {
  const auto& memory = nb::cast<const runtime::SymmetricMemory&>(self);
  const std::span<std::byte> own = memory.of(memory.rank());
  const std::size_t shape[] = {own.size()};
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(own.data(), 1, shape, self));
}

void bind_symmetric(nb::module_& module) {
  using runtime::SymmetricMemory;
  nb::class_<SymmetricMemory>(module, "SymmetricMemory", nb::is_weak_referenceable(),
                              "Memory of each rank of a job that all of them have mapped.")
      .def_prop_ro("name", [](const SymmetricMemory& memory) { return memory.name(); })
      .def_prop_ro("array", symmetric_array, "This rank's, of uint8, not a copy.");
  module.def("_symmetric_memory", make_symmetric, "name"_a, "rank"_a, "ranks"_a, "bytes"_a,
             "timeout"_a);
}

void bind_rank(nb::module_& module) {
  nb::class_<Rank>(module, "Rank", "This process as a rank of a job.")
      .def_prop_ro("rank", [](Rank& rank) { return rank.calls().rank(); })
      .def("bind", &Rank::bind, "name"_a, "array"_a,
           "The calls that follow read or write that array in place: this rank's piece of an\n"
           "input, state or output that was compiled as staged.")
      .def(
          "_bind_address",
          [](Rank& rank, const std::string& name, std::uintptr_t address, std::size_t bytes) {
            rank.calls().bind(name, {reinterpret_cast<std::byte*>(address), bytes});
          },
          "name"_a, "address"_a, "bytes"_a)
      .def("own", &Rank::own, "name"_a,
           "This rank's piece, where calls read or write it, not a copy.")
      .def("shape", &Rank::shape, "name"_a, "Of this rank's piece.")
      .def("first", &Rank::first, "name"_a,
           "The index in the whole tensor, row-major, of the first element of this rank's piece.")
      .def(
          "bytes", [](Rank& rank, const std::string& name) { return rank.calls().bytes(name); },
          "name"_a)
      .def(
          "hold_constant",
          [](Rank& rank, const std::string& name) { rank.calls().hold_constant(name); }, "name"_a,
          "The input's values stay until the next hold_constant or bind of it: what a matmul\n"
          "packs of them is kept.")
      .def(
          "count_from", [](Rank& rank, std::uint64_t number) { rank.calls().count_from(number); },
          "number"_a,
          "The next call has this number, on all ranks: dropouts drop the same at the same number.")
      .def("call", &Rank::call, "One call; all ranks make the same.")
      .def("leave", &Rank::leave, "Leaves the job, as soon as no array that own() gave is left.");
}

}  // namespace

void bind_compiled(nb::module_& module) {
  bind_rank(module);
  bind_symmetric(module);
  nb::class_<execute::Compiled>(module, "Compiled", "A program made ready to run.")
      .def_prop_ro(
          "graph", [](const execute::Compiled& c) { return c.plan().graph; }, "As scheduled.")
      .def_prop_ro(
          "plan", [](const execute::Compiled& c) { return plan::print(c.plan()); },
          "The text of its plan.")
      .def_prop_ro("source", &execute::Compiled::source, "The C++ that was generated.")
      .def("_run", run)
      .def("_join", join);
  module.def(
      "_compile",
      [](const Graph& graph, const std::optional<Schedule>& schedule,
         const std::vector<std::string>& staged) {
        const Graph scheduled = schedule ? apply(graph, *schedule).graph : graph;
        const plan::PlanOptions options{.schedule = schedule ? schedule->name : "",
                                        .staged = staged};
        std::shared_ptr<execute::Compiled> out;
        interruptible([&] {
          out = std::make_shared<execute::Compiled>(scheduled, options, runtime::Toolchain());
        });
        return out;
      },
      "graph"_a, "schedule"_a.none(), "staged"_a);
}

}  // namespace coconet::python
