// coconet tune FILE --ranks N ...: finds the quickest schedule for these sizes on this machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/chosen.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_inputs.h"
#include "cli/tune_page.h"
#include "coconet/base/nearest.h"
#include "coconet/graph/walk.h"
#include "coconet/io/write_file.h"
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
                                          " is no dim that has one size; the program has " +
                                          listed(dims));
  }
  return out;
}

// What both forms of tuning are done with.
class Tune {
 public:
  Tune(const TuneArguments& arguments, Context& context) : arguments_(arguments) {
    const RunArguments& run = arguments.run;
    const File file = load(run.file, context);
    const Graph& program = program_of(file, run.file);
    if (!arguments.plot.empty() && arguments.sweep.empty()) {
      throw UserError(ErrorKind::usage, "--plot is of a --sweep, as N=2^10..2^26; give one");
    }
    if (!arguments.report.empty()) {
      std::error_code ignored;
      std::filesystem::create_directories(arguments.report, ignored);
      page_ = (std::filesystem::path(arguments.report) / "index.html").string();
    }
    for (const std::string& path : {run.out, arguments.plot, page_}) {
      if (!path.empty()) check_writable(path);
    }
    setting_.mesh = mesh_of(run, program.mesh());
    setting_.seed = run.seed;
    execute::InputFiles files;
    given_ = read_inputs(run, program, files);
    graph_ = bound(program, run.file, context,
                   execute::bind_dtypes(program, given_, dtypes_of(run.file), files));
    read_scalars(run, graph_, given_);
    give_scalars(graph_, given_);
    Sizes wanted = sizes_of(run, graph_);
    if (!arguments.sweep.empty()) {
      range_ = range_of(arguments.sweep, graph_);
      if (wanted.contains(range_.dim)) {
        throw UserError(ErrorKind::usage, "--sweep and --dim both give sizes of " + range_.dim);
      }
      wanted[range_.dim] = range_.most;
    }
    setting_.sizes = execute::bind_dims(graph_, given_, setting_.mesh, wanted, files);
    options_.search.exhaustive = arguments.exhaustive;
    options_.search.allow_reassociation = arguments.allow_reassociation;
    options_.threads = threads_of(run, setting_.mesh.ranks());
    options_.timeout = timeout_of(run);
  }

  std::string perform() {
    const Progress progress(true);
    options_.progress = [&](const std::string& what, double done) { progress.show(what, done); };
    return arguments_.sweep.empty() ? once() : over_sizes();
  }

 private:
  std::string once() {
    TuneReport report{graph_, setting_, tune::machine_text(),
                      tune::tune(graph_, given_, setting_, options_)};
    const tune::Decision kept = tune::keep(graph_, setting_, options_, report.tuning);
    write(arguments_.run.out, tune::file_of(graph_, kept));
    if (!page_.empty()) write(page_, page_of(report));
    return arguments_.run.json ? json_of(report) : text_of(report);
  }

  std::string over_sizes() {
    const SweepReport report{graph_, range_.dim, tune::machine_text(),
                             tune::sweep(graph_, given_, setting_, range_, options_)};
    write(arguments_.run.out, tune::file_of(graph_, report.sweep));
    write(arguments_.plot, plot_of(report));
    if (!page_.empty()) write(page_, page_of(report));
    return arguments_.run.json ? json_of(report) : text_of(report);
  }

  static void write(const std::string& path, const std::string& text) {
    if (path.empty()) return;
    const std::array parts = {std::as_bytes(std::span(text))};
    write_file(path, parts);
  }

  const TuneArguments& arguments_;
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
    chosen = [arguments](Context& context) {
      std::fputs(Tune(*arguments, context).perform().c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace coconet::cli
