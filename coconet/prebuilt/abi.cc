#include "coconet/prebuilt/abi.h"

#include <functional>
#include <memory>
#include <string>

#include "coconet/execute/join.h"
#include "coconet/graph/walk.h"
#include "coconet/prebuilt/library_text.h"

namespace coconet::prebuilt {
namespace {

thread_local std::string latest_error;

// Whether the action came to its end.
bool done(const std::function<void()>& action) {
  latest_error.clear();
  try {
    action();
    return true;
  } catch (const std::exception& error) {
    latest_error = error.what();
  } catch (...) {
    latest_error = "an exception that is none of the standard library's";
  }
  return false;
}

void need(bool fine, const std::string& what) {
  if (!fine) throw UserError(ErrorKind::usage, what);
}

interp::Setting setting_of(const Graph& program, const BuiltSetting& given) {
  interp::Setting out;
  out.mesh.sizes.assign(given.mesh, given.mesh + program.mesh().size());
  out.seed = given.seed;
  const std::vector<std::string>& dims = program.header().dims;
  const auto lists = list_dims(program);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (lists.contains(dims[d])) {
      need(given.counts[d] >= 0 && (given.sizes[d] || given.counts[d] == 0),
           "found " + std::to_string(given.counts[d]) + " members of the list " + dims[d] +
               (given.sizes[d] ? "" : ", and no sizes of them") +
               "; needed is their number, 0 or more, and a size for each");
      out.sizes.lists[dims[d]].assign(given.sizes[d], given.sizes[d] + given.counts[d]);
    } else {
      out.sizes[dims[d]] = *given.sizes[d];
    }
  }
  return out;
}

// A rank and what it was compiled to.
struct BuiltRank {
  execute::Compiled compiled;
  std::unique_ptr<execute::RankCalls> calls;  // goes first
};

std::unique_ptr<BuiltRank> joined(const Built& built, const BuiltSetting& given,
                                  const std::string& job, int rank) {
  const File file = parse_file(built.text);
  const Graph& program = file.program();
  execute::RunRequest request;
  request.setting = setting_of(program, given);
  request.threads = given.threads;
  constexpr double kLongest = 1e9;
  need(given.timeout >= 0 && given.timeout <= kLongest,
       "found a timeout of " + std::to_string(given.timeout) +
           "; needed are seconds from 0, the usual 1800, to 1e9");
  if (given.timeout > 0) {
    request.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(given.timeout * 1e3));
  }
  const Case& one =
      pick(*file.choice(program.header().program, built.choice), request.setting.sizes);
  request.knobs = one.knobs;
  const kernel::Module* module = nullptr;
  for (int s = 0; s < built.schedule_count; ++s) {
    if (built.schedules[s].name == one.schedule) module = built.schedules[s].module;
  }
  check(module != nullptr, "a library has a module for each schedule of its choice");
  const std::vector<std::string> staged(built.staged, built.staged + built.staged_count);
  auto out = std::make_unique<BuiltRank>(
      BuiltRank{execute::Compiled(plan_of(file, one.schedule, staged), *module), nullptr});
  out->calls = execute::join(
      out->compiled, request,
      {job, rank, std::min<std::chrono::milliseconds>(request.timeout, std::chrono::seconds(60))});
  return out;
}

execute::RankCalls& calls_of(void* rank) {
  need(rank != nullptr, "found no rank; needed is what the join gave");
  return *static_cast<BuiltRank*>(rank)->calls;
}

const char* name_of(const char* name) {
  need(name != nullptr, "found no name of a tensor; needed is one");
  return name;
}

}  // namespace
}  // namespace coconet::prebuilt

using coconet::prebuilt::calls_of;
using coconet::prebuilt::done;
using coconet::prebuilt::name_of;

void* coconet_built_join(const coconet::prebuilt::Built* built,
                         const coconet::prebuilt::BuiltSetting* setting, const char* job,
                         std::int32_t rank) {
  std::unique_ptr<coconet::prebuilt::BuiltRank> out;
  done([&] {
    coconet::prebuilt::need(job != nullptr, "found no name of a job; needed is one");
    coconet::prebuilt::need(setting != nullptr, "found no setting; needed is one");
    out = coconet::prebuilt::joined(*built, *setting, job, rank);
  });
  return out.release();
}

void* coconet_built_tensor(void* rank, const char* name, std::size_t* bytes) {
  void* out = nullptr;
  done([&] {
    const std::span<std::byte> piece = calls_of(rank).own(name_of(name));
    if (bytes) *bytes = piece.size();
    out = piece.data();
  });
  return out;
}

int coconet_built_bind(void* rank, const char* name, void* memory, std::size_t bytes) {
  const auto bind = [&] {
    coconet::prebuilt::need(memory != nullptr || bytes == 0, "found no memory; needed is some");
    calls_of(rank).bind(name_of(name), {static_cast<std::byte*>(memory), bytes});
  };
  return done(bind) ? 0 : -1;
}

int coconet_built_hold_constant(void* rank, const char* name) {
  return done([&] { calls_of(rank).hold_constant(name_of(name)); }) ? 0 : -1;
}

int coconet_built_call(void* rank) {
  return done([&] { calls_of(rank).call(); }) ? 0 : -1;
}

void coconet_built_leave(void* rank) { delete static_cast<coconet::prebuilt::BuiltRank*>(rank); }

const char* coconet_built_error() { return coconet::prebuilt::latest_error.c_str(); }
