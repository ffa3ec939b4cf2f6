// coconet run FILE --ranks N ...: runs a program on ranks of this machine, checked as asked.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/report.h"
#include "coconet/base/error.h"
#include "coconet/execute/inputs.h"
#include "coconet/execute/run.h"
#include "coconet/execute/verify.h"
#include "coconet/graph/rebind.h"
#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"
#include "coconet/io/tensor_spec.h"

namespace coconet::cli {
namespace {

MeshSizes mesh_of(const RunArguments& arguments, const Mesh& mesh) {
  if (arguments.ranks != 0 && !arguments.mesh.empty()) {
    throw UserError(ErrorKind::usage, "give --ranks or --mesh, not both");
  }
  MeshSizes out{std::vector<int>(mesh.size(), 0)};
  if (arguments.mesh.empty()) {
    if (mesh.size() != 1) {
      throw UserError(ErrorKind::usage, "mesh " + mesh.text() + " has " +
                                            std::to_string(mesh.size()) +
                                            " axes; give the size of each with --mesh");
    }
    if (arguments.ranks < 1) {
      throw UserError(ErrorKind::usage, "give --ranks, from 1 on");
    }
    out.sizes[0] = arguments.ranks;
    return out;
  }
  for (const auto& [name, value] : pairs_of(arguments.mesh, "--mesh")) {
    const auto axis = mesh.axis(name);
    if (!axis) {
      throw UserError(ErrorKind::usage, "--mesh: there is no axis " + name + " in " + mesh.text());
    }
    out.sizes[*axis] = static_cast<int>(integer_of(value, "--mesh " + name));
  }
  for (int axis = 0; axis < mesh.size(); ++axis) {
    if (out.sizes[axis] < 1) {
      throw UserError(ErrorKind::usage,
                      "--mesh must give axis " + mesh.axes[axis] + " a size, from 1 on");
    }
  }
  return out;
}

const Input& input_of(const Graph& graph, const std::string& name, const std::string& option) {
  const NodeId id = graph.find(name);
  const Input* input = id.valid() ? std::get_if<Input>(&graph.node(id).op) : nullptr;
  if (input) return *input;
  std::string known;
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<Input>(node.op)) known += (known.empty() ? "" : ", ") + node.name;
  }
  throw UserError(ErrorKind::data,
                  option + ": the program has no input " + name + "; its inputs are " + known);
}

// A whole .safetensors file gives what the program has; `x=FILE...` gives x.
execute::GlobalTensors read_inputs(const RunArguments& arguments, const Graph& graph) {
  execute::GlobalTensors out;
  for (const std::string& text : arguments.inputs) {
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      const std::string name = text.substr(0, equals);
      input_of(graph, name, "--in " + text);
      out[name] = read_tensor(parse_tensor_spec(text.substr(equals + 1)), name);
      continue;
    }
    if (!text.ends_with(".safetensors")) {
      throw UserError(ErrorKind::usage, "--in " + text +
                                            ": a .npy file holds one tensor; say of which input, "
                                            "as x=" +
                                            text);
    }
    const SafetensorsFile file(text);
    for (const Node& node : graph.nodes()) {
      if (!std::holds_alternative<Input>(node.op) || !file.has(node.name)) continue;
      out.try_emplace(node.name, file.read(node.name));
    }
  }
  return out;
}

// Scalars may be files of any dtype; typed ones are numbers.
void read_scalars(const RunArguments& arguments, const Graph& graph,
                  execute::GlobalTensors& given) {
  for (const auto& [name, value] : pairs_of(arguments.scalars, "--scalar")) {
    const Input& input = input_of(graph, name, "--scalar " + name);
    if (input.kind != InputKind::scalar) {
      throw UserError(ErrorKind::usage, "--scalar " + name + ": " + name + " is " +
                                            input.type.text(graph.mesh()) +
                                            ", not a scalar; give it with --in");
    }
    given[name] =
        execute::scalar_tensor(input.type.dtype.kind, number_of(value, "--scalar " + name));
  }
}

void write_tensor(const std::string& folder, const OutputReport& output) {
  const std::string path = (std::filesystem::path(folder) / output.name).string();
  if (output.value.dtype == DTypeKind::bf16) {
    write_safetensors(path + ".safetensors", {{output.name, output.value}});
  } else {
    write_npy(path + ".npy", output.value);
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
    given_ = read_inputs(arguments, program);
    graph_ =
        rebind_dtypes(program, execute::bind_dtypes(program, given_, dtypes_of(arguments.file)));
    read_scalars(arguments, graph_, given_);
    Sizes sizes;
    for (const auto& [name, value] : pairs_of(arguments.dims, "--dim")) {
      sizes[name] = integer_of(value, "--dim " + name);
    }
    setting_.sizes = execute::bind_dims(graph_, given_, setting_.mesh, sizes);
    execute::draw_missing(graph_, setting_, given_);
    wants_ = read_wants(arguments);
    scheduled_ = scheduled(graph_, file, arguments.file.schedule).graph;
    if (!arguments.out.empty()) std::filesystem::create_directories(arguments.out);
  }

  Report perform() {
    const runtime::Toolchain toolchain;
    const execute::Compiled compiled(scheduled_, {.schedule = arguments_.file.schedule}, toolchain);
    const execute::RunResult result = execute::run(compiled, request_of(scheduled_));
    Report report = report_of(compiled, result);
    add_outputs(report, result);
    if (arguments_.verify) {
      add_verification(report,
                       execute::verify(graph_, request_of(graph_), scheduled_, result, toolchain));
    }
    add_wants(report);
    for (const OutputReport& output : report.outputs) {
      if (!arguments_.out.empty()) write_tensor(arguments_.out, output);
    }
    return report;
  }

 private:
  execute::RunRequest request_of(const Graph& graph) const {
    execute::RunRequest request;
    request.setting = setting_;
    request.inputs = execute::distribute(graph, given_, setting_);
    request.repeat = arguments_.repeat;
    request.chunks = arguments_.chunks;
    request.kind = arguments_.threads ? runtime::RankKind::thread : runtime::RankKind::process;
    request.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(arguments_.timeout * 1e3));
    return request;
  }

  Report report_of(const execute::Compiled& compiled, const execute::RunResult& result) const {
    Report out;
    out.program = graph_.header().program;
    out.schedule = arguments_.file.schedule;
    out.mesh = graph_.mesh();
    out.setting = setting_;
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

  void add_outputs(Report& report, const execute::RunResult& result) const {
    const auto add = [&](const std::string& name, const TensorType& type,
                         const interp::Pieces& pieces, bool storage) {
      OutputReport output;
      output.name = name;
      output.type = type;
      output.storage = storage;
      output.value = execute::gather(type, pieces, setting_);
      report.outputs.push_back(std::move(output));
    };
    for (const Output& output : scheduled_.outputs()) {
      add(output.name, scheduled_.node(output.node).type, result.outputs.at(output.name), false);
    }
    for (const auto& [name, pieces] : result.storage) {
      add(name, scheduled_.node(scheduled_.find(name)).type, pieces, true);
    }
  }

  static void add_verification(Report& report, const execute::Verification& verification) {
    report.first_outside = verification.first_outside;
    for (OutputReport& output : report.outputs) {
      output.check = verification.outputs.at(output.name);
      output.within_bound = verification.within_bound;
    }
  }

  void add_wants(Report& report) const {
    for (const Want& want : wants_) {
      const auto output = std::find_if(report.outputs.begin(), report.outputs.end(),
                                       [&](const OutputReport& o) { return o.name == want.name; });
      if (output == report.outputs.end()) {
        std::string known;
        for (const OutputReport& o : report.outputs) known += (known.empty() ? "" : ", ") + o.name;
        throw UserError(ErrorKind::usage, "--want " + want.name +
                                              ": no output or state has that "
                                              "name; there are " +
                                              known);
      }
      output->want = compare(output->value, want);
    }
  }

  const RunArguments& arguments_;
  interp::Setting setting_;
  execute::GlobalTensors given_;
  std::vector<Want> wants_;
  Graph graph_, scheduled_;
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
      if (!report.good()) {
        for (const OutputReport& output : report.outputs) {
          if (output.want && !output.want->within_bound) {
            std::fprintf(
                stderr, "error: %s is not within its bound: largest difference %.6g, worst at %s\n",
                output.name.c_str(), output.want->max_difference, output.want->where.c_str());
          }
        }
        if (!report.first_outside.empty()) {
          std::fprintf(stderr, "error: an operation left its bound: %s\n",
                       report.first_outside.c_str());
        }
      }
      return report.good() ? 0 : 1;
    };
  });
}

}  // namespace coconet::cli
