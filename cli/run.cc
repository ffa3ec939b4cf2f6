// coconet run FILE --ranks N ...: runs a program on ranks of this machine, checked as asked.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "cli/chosen.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/run_inputs.h"
#include "coconet/base/error.h"
#include "coconet/base/nearest.h"
#include "coconet/execute/lists.h"
#include "coconet/execute/memory_need.h"
#include "coconet/execute/run.h"
#include "coconet/execute/verify.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"
#include "coconet/runtime/cores.h"

namespace coconet::cli {
namespace {

std::optional<bool> one_shot_of(const RunArguments& arguments) {
  if (arguments.protocol.empty() || arguments.protocol == "auto") return std::nullopt;
  if (arguments.protocol == "one-shot") return true;
  if (arguments.protocol == "direct") return false;
  throw UserError(ErrorKind::usage, "--protocol must be one-shot, direct or auto; found '" +
                                        arguments.protocol + "'");
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    throw UserError(ErrorKind::data, "--out " + folder + ": the folder cannot be made: " +
                                         (error ? error.message() : "it is a file"));
  }
}

// Says on a terminal that the compiler is at work; gone when it has ended.
class CompileNote {
 public:
  explicit CompileNote(bool shown) : shown_(shown && isatty(STDERR_FILENO) == 1) {
    if (shown_) std::fputs("compiling ...", stderr);
  }
  CompileNote(const CompileNote&) = delete;
  CompileNote& operator=(const CompileNote&) = delete;
  ~CompileNote() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool shown_;
};

void write_tensor(const std::string& folder, const OutputReport& output) {
  const std::string path = (std::filesystem::path(folder) / output.name).string();
  if (output.value.dtype == DTypeKind::bf16) {
    write_safetensors(path + ".safetensors", {{output.name, output.value}});
  } else {
    write_npy(path + ".npy", output.value);
  }
}

using ListFiles = std::map<std::string, std::map<std::string, TensorData>>;

// The members of each of `lists`, which may have none, go to one file.
void write_outputs(const std::string& folder, const std::vector<OutputReport>& outputs,
                   ListFiles lists) {
  for (const OutputReport& output : outputs) {
    if (output.list.empty()) {
      write_tensor(folder, output);
    } else {
      lists[output.list][output.name] = output.value;
    }
  }
  for (const auto& [name, members] : lists) {
    write_safetensors((std::filesystem::path(folder) / name).string() + ".safetensors", members);
  }
}

// All that one run needs, made in order.
class Run {
 public:
  Run(const RunArguments& arguments, Context& context) : arguments_(arguments) {
    const File file = load(arguments.file, context);
    const Graph& program = program_of(file, arguments.file);
    setting_.mesh = mesh_of(arguments, program.mesh());
    setting_.seed = arguments.seed;
    execute::InputFiles files;
    given_ = read_inputs(arguments, program, files);
    graph_ = bound(program, arguments.file, context,
                   execute::bind_dtypes(program, given_, dtypes_of(arguments.file), files));
    read_scalars(arguments, graph_, given_);
    setting_.sizes =
        execute::bind_dims(graph_, given_, setting_.mesh, sizes_of(arguments, graph_), files);
    timeout_ = timeout_of(arguments);
    threads_ = threads_of(arguments, setting_.mesh.ranks());
    knobs_ = {arguments.chunks, one_shot_of(arguments),
              static_cast<int>(arguments.threads.value_or(0))};
    constexpr std::int64_t kMostCalls = std::numeric_limits<int>::max();
    if (arguments.repeat < 1 || arguments.repeat > kMostCalls) {
      throw UserError(ErrorKind::usage, "--repeat must be from 1 to " + std::to_string(kMostCalls) +
                                            "; found " + std::to_string(arguments.repeat));
    }
    const Applied applied = chosen(file);
    scheduled_ = applied.graph;
    exactness_ = applied.exactness;
    plan_ = plan::from_schedule(
        scheduled_, {.schedule = schedule_, .staged = staged_of(arguments.staged, scheduled_)});
    execute::need_memory_of_run(plan_, setting_, knobs_.chunks, given_);
    drawn_ = execute::draw_missing(graph_, setting_, given_);
    wants_ = read_wants(arguments);
    for (const Want& want : wants_) check_shape(want, shape_of(want.name));
    if (!arguments.out.empty()) {
      need_own_files();
      make_folder(arguments.out);
    }
  }

  Report perform() {
    // Compiled side by side, before any rank is started.
    const runtime::Toolchain toolchain;
    std::future<execute::CompiledForVerify> checked;
    std::optional<execute::Compiled> compiled;
    {
      const CompileNote note(!arguments_.json);
      if (arguments_.verify) {
        checked = std::async(std::launch::async, [&] {
          return execute::CompiledForVerify(graph_, scheduled_, exactness_, toolchain);
        });
      }
      compiled.emplace(std::move(plan_), toolchain);
      if (checked.valid()) checked.wait();
    }
    if (const std::string& note = compiled->library().note; !note.empty()) {
      std::fprintf(stderr, "coconet: warning: %s; going on without it\n", note.c_str());
    }
    const execute::RunResult result = execute::run(*compiled, request_of(scheduled_));
    Report report = report_of(*compiled, result);
    add_outputs(report, result);
    if (checked.valid()) {
      add_verification(report, checked.get(), result);
      const std::string why =
          report.exact && !all_bits_equal(report) ? execute::inexact_matmul(scheduled_) : "";
      if (!why.empty()) {
        std::fprintf(stderr, "coconet: warning: schedules reassociate on this machine: %s\n",
                     why.c_str());
        report.exact = false;
        add_verification(report, {graph_, scheduled_, Exactness::reassociates, toolchain}, result);
      }
    }
    for (const Want& want : wants_) {
      OutputReport& output = *find(report.outputs, want.name);
      output.want = compare(output.value, want);
    }
    if (!arguments_.out.empty()) write_outputs(arguments_.out, report.outputs, list_files());
    return report;
  }

 private:
  Applied chosen(const File& file) {
    tune::TuneOptions options;
    options.threads = threads_;
    options.timeout = timeout_;
    options.staged = staged_of(arguments_.staged, graph_);
    options.schedules = own_schedules(file, graph_);
    Chosen out = choose(file, graph_, arguments_.file.schedule, given_, setting_, options, knobs_,
                        !arguments_.json);
    schedule_ = out.schedule;
    knobs_ = out.knobs;
    if (knobs_.threads >= threads_) knobs_.threads = 0;  // those that a rank has
    return std::move(out.applied);
  }

  execute::RunRequest request_of(const Graph& graph) const {
    execute::RunRequest request;
    request.setting = setting_;
    request.inputs = execute::distribute(graph, given_, setting_);
    request.repeat = static_cast<int>(arguments_.repeat);
    request.knobs = knobs_;
    request.kind = arguments_.one_process ? runtime::RankKind::thread : runtime::RankKind::process;
    request.timeout = timeout_;
    request.threads = threads_;
    return request;
  }

  Report report_of(const execute::Compiled& compiled, const execute::RunResult& result) const {
    Report out;
    out.program = graph_.header().program;
    out.schedule = schedule_;
    out.knobs = options_text(knobs_);
    out.mesh = graph_.mesh();
    out.dims = graph_.header().dims;
    out.setting = setting_;
    out.threads = threads_;
    out.drawn = drawn_;
    out.exact = exactness_ == Exactness::exact;
    out.kernels = static_cast<int>(compiled.plan().launches.size());
    out.bytes_sent = execute::bytes_between_ranks(compiled.plan(), setting_);
    out.compile_milliseconds = compiled.library().milliseconds;
    out.microseconds_of_ranks.resize(setting_.mesh.ranks());
    for (const auto& call : result.microseconds) {
      out.microseconds.push_back(*std::max_element(call.begin(), call.end()));
    }
    for (std::size_t rank = 0; rank < out.microseconds_of_ranks.size(); ++rank) {
      std::vector<double> own;
      for (const auto& call : result.microseconds) own.push_back(call[rank]);
      out.microseconds_of_ranks[rank] = median(own);
    }
    return out;
  }

  // Calls visit(name, type, is storage) for what the run gives: the outputs, then the states and
  // inputs that it updates.
  template <class Visit>
  void for_each_result(const Visit& visit) const {
    for (const Output& output : scheduled_.outputs()) {
      visit(output.name, scheduled_.node(output.node).type, false);
    }
    for (const Node& node : scheduled_.nodes()) {
      if (!std::holds_alternative<Update>(node.op)) continue;
      const Node& storage = scheduled_.node(node.inputs[0]);
      visit(storage.name, storage.type, true);
    }
  }

  // Of a list, each member.
  std::vector<OutputReport> results() const {
    std::vector<OutputReport> out;
    for_each_result([&](const std::string& name, const TensorType& type, bool storage) {
      OutputReport output;
      output.name = name;
      output.type = type;
      output.storage = storage;
      if (!type.is_list()) {
        out.push_back(std::move(output));
        return;
      }
      output.list = name;
      for (std::int64_t k = 0; k < execute::members_of(type, setting_.sizes); ++k) {
        output.name = execute::member_name(name, k);
        out.push_back(output);
      }
    });
    return out;
  }

  ListFiles list_files() const {
    ListFiles out;
    for_each_result([&](const std::string& name, const TensorType& type, bool) {
      if (type.is_list()) out[name];
    });
    return out;
  }

  // A program that updates m may return the old m too.
  void need_own_files() const {
    std::set<std::string> names;
    for (const OutputReport& result : results()) {
      if (names.insert(result.name).second) continue;
      throw UserError(ErrorKind::usage,
                      "--out would write both the output " + result.name +
                          " and the updated storage of that name to one file; return the old value "
                          "under another name, as `old = " +
                          result.name + "`");
    }
  }

  // An output goes before a state of its name.
  static std::vector<OutputReport>::iterator find(std::vector<OutputReport>& outputs,
                                                  const std::string& name) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const OutputReport& output) { return output.name == name; });
  }

  // The first member of a list.
  static std::vector<OutputReport>::iterator find_list(std::vector<OutputReport>& outputs,
                                                       const std::string& list) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const OutputReport& output) { return output.list == list; });
  }

  std::vector<std::int64_t> shape_of(const std::string& want) const {
    std::vector<OutputReport> all = results();
    const auto output = find(all, want);
    const auto same = [&](const OutputReport& one) { return one.name == want; };
    if (std::count_if(all.begin(), all.end(), same) > 1) {
      throw UserError(ErrorKind::usage, "--want " + want + " may be the output or the updated " +
                                            "storage of that name; return the old value under " +
                                            "another name, as `old = " + want + "`");
    }
    if (output != all.end()) {
      if (output->list.empty()) return interp::global_sizes(output->type, setting_);
      const auto first = find_list(all, output->list);
      return execute::member_shape(output->type, setting_, output - first);
    }
    std::vector<std::string> names;
    for (const OutputReport& one : all) names.push_back(one.name);
    throw UserError(ErrorKind::usage, "--want " + want + ": no output or state has that name" +
                                          suggestion(want, names) + "; there are " + listed(names));
  }

  void add_outputs(Report& report, const execute::RunResult& result) const {
    report.outputs = results();
    for (auto output = report.outputs.begin(); output != report.outputs.end(); ++output) {
      const auto& values = output->storage ? result.storage : result.outputs;
      if (output->list.empty()) {
        output->value = execute::gather(output->type, values.at(output->name), setting_);
        continue;
      }
      const interp::Pieces& pieces = values.at(output->list);
      auto members = execute::gather_members(output->type, pieces, setting_);
      for (std::size_t k = 0; k < members.size(); ++k) output[k].value = std::move(members[k]);
      output += static_cast<std::ptrdiff_t>(members.size()) - 1;
    }
  }

  static bool all_bits_equal(const Report& report) {
    return std::all_of(
        report.outputs.begin(), report.outputs.end(),
        [](const OutputReport& output) { return output.check->bit_equal_to_unscheduled; });
  }

  void add_verification(Report& report, const execute::CompiledForVerify& compiled,
                        const execute::RunResult& result) const {
    const execute::Verification verification =
        execute::verify(compiled, request_of(graph_), request_of(scheduled_), result);
    report.first_outside = verification.first_outside;
    for (OutputReport& output : report.outputs) {
      const auto& checks = output.storage ? verification.storage : verification.outputs;
      output.check = checks.at(output.list.empty() ? output.name : output.list);
      output.within_bound = verification.within_bound;
    }
  }

  const RunArguments& arguments_;
  interp::Setting setting_;
  execute::GlobalTensors given_;
  std::vector<std::string> drawn_;  // the inputs without a value given
  std::vector<Want> wants_;
  std::chrono::milliseconds timeout_{};
  int threads_ = 1;       // of a rank
  std::string schedule_;  // that runs; "": unscheduled
  Knobs knobs_;
  Graph graph_, scheduled_;
  plan::Plan plan_;  // of scheduled_, until it is compiled
  Exactness exactness_ = Exactness::exact;
};

}  // namespace

void add_run(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("run", "run a program on ranks of this machine");
  auto arguments = std::make_shared<RunArguments>();
  add_run_options(*command, *arguments);
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) {
      const Report report = Run(*arguments, context).perform();
      std::fputs((arguments->json ? json_of(report) : text_of(report)).c_str(), stdout);
      for (const Failure& failure : failures_of(report)) {
        std::fprintf(stderr, "error: %s\n", failure.message.c_str());
      }
      return failures_of(report).empty() ? 0 : 1;
    };
  });
}

}  // namespace coconet::cli
