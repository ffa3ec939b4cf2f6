// coconet tune FILE --ranks N ...: finds the quickest schedule for these sizes on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/chosen.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_inputs.h"
#include "cli/tune_page.h"
#include "coconet/base/nearest.h"
#include "coconet/graph/walk.h"
#include "coconet/io/write_file.h"
#include "coconet/tune/found_text.h"
#include "coconet/tune/machine.h"

namespace coconet::cli {
namespace {

// "4096" or "2^12".
std::int64_t size_of(const std::string& text, const std::string& whole) {
  const std::size_t power = text.find('^');
  if (power == text.npos) return integer_of(text, "--sweep " + whole + ": a size");
  const std::int64_t exponent = integer_of(text.substr(power + 1), "--sweep " + whole);
  if (text.substr(0, power) != "2" || exponent < 0 || exponent > 62) {
    throw UserError(ErrorKind::usage, "--sweep " + whole + ": '" + text +
                                          "' is no size; needed is a number or 2^0 to 2^62");
  }
  return std::int64_t{1} << exponent;
}

// "B, N_i of a list".
std::string dims_text(const Graph& graph) {
  std::vector<std::string> out;
  for (const std::string& dim : graph.header().dims) {
    out.push_back(list_dims(graph).contains(dim) ? dim + " of a list" : dim);
  }
  return listed(out);
}

tune::SweepRange range_of(const std::string& text, const Graph& graph) {
  const std::size_t equals = text.find('='), dots = text.find("..");
  if (equals == text.npos || dots == text.npos || dots < equals) {
    throw UserError(ErrorKind::usage,
                    "--sweep takes DIM=FIRST..LAST, as N=2^10..2^26; found '" + text + "'");
  }
  tune::SweepRange out;
  out.dim = text.substr(0, equals);
  out.least = size_of(text.substr(equals + 1, dots - equals - 1), text);
  out.most = size_of(text.substr(dots + 2), text);
  const std::vector<std::string>& dims = graph.header().dims;
  if (std::find(dims.begin(), dims.end(), out.dim) == dims.end() ||
      list_dims(graph).contains(out.dim)) {
    throw UserError(ErrorKind::usage, "--sweep " + text + ": " + out.dim +
                                          " is no dim of one size, as a sweep takes; the program "
                                          "has " +
                                          dims_text(graph));
  }
  return out;
}

// What both forms of tuning are done with.
class Tune {
 public:
  Tune(const TuneArguments& arguments, Context& context)
      : arguments_(arguments), text_(context.source_text) {
    const RunArguments& run = arguments.run;
    file_ = load(run.file, context);
    const Graph& program = program_of(file_, run.file);
    if (!arguments.plot.empty() && arguments.sweep.empty()) {
      throw UserError(ErrorKind::usage, "--plot is of a --sweep, as N=2^10..2^26; give one");
    }
    if (!arguments.report.empty()) {
      std::error_code ignored;
      std::filesystem::create_directories(arguments.report, ignored);
      page_ = (std::filesystem::path(arguments.report) / "index.html").string();
    }
    setting_.mesh = mesh_of(run, program.mesh());
    setting_.seed = run.seed;
    execute::InputFiles files;
    given_ = read_inputs(run, program, files);
    std::vector<std::string> read{run.file.file};
    for (const auto& [name, file] : files) read.push_back(file);
    check_outputs({run.out, arguments.plot, page_}, read);
    graph_ = bound(program, run.file, context,
                   execute::bind_dtypes(program, given_, dtypes_of(run.file), files));
    read_scalars(run, graph_, given_);
    execute::give_ones(graph_, given_);
    Sizes wanted = sizes_of(run, graph_);
    if (!arguments.sweep.empty()) {
      range_ = range_of(arguments.sweep, graph_);
      if (wanted.contains(range_.dim)) {
        throw UserError(ErrorKind::usage, "--sweep and --dim both give sizes of " + range_.dim);
      }
      wanted[range_.dim] = range_.most;
    }
    const auto bind = [&] {
      setting_.sizes = execute::bind_dims(graph_, given_, setting_.mesh, wanted, files);
    };
    arguments.sweep.empty() ? bind() : with_option("--sweep " + arguments.sweep, bind);
    options_.search.exhaustive = arguments.exhaustive;
    options_.search.allow_reassociation = arguments.allow_reassociation;
    options_.threads = threads_of(run, setting_.mesh.ranks());
    options_.staged = staged_of(run.staged, graph_);
    options_.schedules = own_schedules(file_, graph_);
    options_.timeout = timeout_of(run);
  }

  // The exit code.
  int perform() {
    const Progress progress(true, arguments_.exhaustive);
    options_.progress = [&](const std::string& what, double done) { progress.show(what, done); };
    return arguments_.sweep.empty() ? once() : over_sizes();
  }

 private:
  int once() {
    TuneReport report{graph_, setting_, options_.staged, place(),
                      tune::tune(graph_, given_, setting_, options_)};
    if (const std::string& note = report.tuning.note; !note.empty()) {
      std::fprintf(stderr, "coconet: warning: %s; going on without it, and nothing is kept\n",
                   note.c_str());
    }
    const tune::Decision kept = tune::keep(graph_, setting_, options_, report.tuning);
    if (!kept.kept) {
      std::fprintf(stderr,
                   "coconet: run --schedule auto goes on taking the decision of before, which was "
                   "made when less else ran\n");
    }
    return finish(report, [&] {
      write_found(tune::found_of(graph_, kept), sizes_text(graph_, setting_));
      if (!page_.empty()) write(page_, page_of(report));
    });
  }

  int over_sizes() {
    const SweepReport report{graph_, range_.dim, others(), place(),
                             tune::sweep(graph_, given_, setting_, range_, options_)};
    return finish(report, [&] {
      write_found(tune::found_of(report.sweep), report.others + " " + range_.dim + " from " +
                                                    std::to_string(range_.least) + " to " +
                                                    std::to_string(range_.most));
      write(arguments_.plot, plot_of(report));
      if (!page_.empty()) write(page_, page_of(report));
    });
  }

  // Prints what was found, whether or not the files can be written. The exit code.
  template <class Found, class Files>
  int finish(const Found& report, const Files& write_files) const {
    if (!arguments_.run.json) {
      std::fputs(text_of(report).c_str(), stdout);
      std::fflush(stdout);
      write_files();
      return 0;
    }
    nlohmann::ordered_json out = json_of(report);
    int code = 0;
    try {
      write_files();
    } catch (const UserError& error) {
      std::fprintf(stderr, "error: %s\n", error.what());
      add_errors(out, {reported(error)});
      code = exit_code_of(error.kind());
    }
    std::fputs((out.dump(2) + "\n").c_str(), stdout);
    return code;
  }

  // "Intel(R) Xeon(R) Processor, 2 cores; 1 thread a rank".
  std::string place() const {
    return fmt::format("{}; {} a rank", tune::machine_text(), counted(options_.threads, "thread"));
  }

  // The mesh, and the dims that a sweep does not change.
  std::string others() const {
    interp::Setting setting = setting_;
    setting.sizes.erase(range_.dim);
    return sizes_text(graph_, setting);
  }

  // The user's file, as it is, and what was found behind it.
  void write_found(const tune::Found& found, const std::string& where) const {
    const std::string& path = arguments_.run.out;
    if (path.empty()) return;
    const tune::Found added = tune::for_file(found, file_);
    const bool whole = text_.empty() || text_.back() == '\n';
    write(path, text_ + (whole ? "\n" : "\n\n") +
                    tune::text_of(added, "Found by coconet tune for " + where + "; " + place()));
    std::fprintf(stderr, "coconet: wrote %s; run takes it with --schedule %s\n", path.c_str(),
                 added.choice.name.c_str());
  }

  static void write(const std::string& path, const std::string& text) {
    if (path.empty()) return;
    const std::array parts = {std::as_bytes(std::span(text))};
    write_file(path, parts);
  }

  const TuneArguments& arguments_;
  const std::string& text_;  // of the file
  File file_;
  interp::Setting setting_;
  execute::GlobalTensors given_;
  Graph graph_;
  tune::SweepRange range_;
  tune::TuneOptions options_;
  std::string page_;  // "": none
};

}  // namespace

void add_tune(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("tune", "find the quickest schedule for these sizes here");
  auto arguments = std::make_shared<TuneArguments>();
  add_tune_options(*command, *arguments);
  command->callback([arguments, &chosen] {
    chosen = [arguments](Context& context) { return Tune(*arguments, context).perform(); };
  });
}

}  // namespace coconet::cli
