#include "tests/property/property_case.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/interp/compare.h"
#include "coconet/interp/global_tensor.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/plan/in_place.h"
#include "coconet/plan/staging.h"
#include "coconet/plan/verify.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/candidates.h"
#include "coconet/schedule/file.h"
#include "coconet/simulate/executor.h"
#include "tests/property/random_schedule.h"
#include "tests/support/planned.h"

namespace coconet::property {
namespace {

using interp::Bytes;
using interp::Pieces;
using interp::Result;
using Tensors = std::map<std::string, Bytes>;

constexpr int kMostSteps = 6;

TensorType output_type(const Graph& graph, const std::string& name) {
  for (const Output& output : graph.outputs()) {
    if (output.name == name) return graph.node(output.node).type;
  }
  throw InternalError("an output of that name: " + name);
}

// After a step that reassociates: floats within a share of the largest value, others equal.
std::optional<std::string> near(DTypeKind kind, const Bytes& got, const Bytes& want) {
  if (got.size() != want.size()) return "of another size";
  if (!is_floating(kind)) return std::nullopt;  // a rounding may flip what follows it
  const std::int64_t count = static_cast<std::int64_t>(want.size()) / size_of(kind);
  double largest = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = std::fabs(interp::to_double(interp::load(kind, want.data(), i)));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double share = size_of(kind) == 2 ? 0.1 : 1e-2;
  for (std::int64_t i = 0; i < count; ++i) {
    const double a = interp::to_double(interp::load(kind, got.data(), i));
    const double b = interp::to_double(interp::load(kind, want.data(), i));
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    if (std::fabs(a - b) > share * largest) {
      return "element " + std::to_string(i) + ": got " + std::to_string(a) + ", want " +
             std::to_string(b);
    }
  }
  return std::nullopt;
}

// By their global tensors: a step may change how a state is placed.
std::optional<std::string> tensor_differs(const interp::Setting& setting,
                                          const TensorType& got_type, const Pieces& got,
                                          const TensorType& want_type, const Pieces& want,
                                          bool exact) {
  const Bytes a = interp::assemble(got_type, setting, got);
  const Bytes b = interp::assemble(want_type, setting, want);
  if (!exact) return near(want_type.dtype.kind, a, b);
  if (a.size() != b.size()) return "of another size";
  const auto compared = interp::compare(want_type.dtype.kind, a, b);
  if (!compared.equal()) return compared.first->text();
  if (!(got_type == want_type)) return std::nullopt;
  const auto pieces = interp::compare(want_type.dtype.kind, got, want);
  if (!pieces.equal()) return pieces.first->text();
  return std::nullopt;
}

class CaseRun {
 public:
  CaseRun(const Case& given, const Runner& runner) : given_(given), runner_(runner) {
    const interp::Setting& setting = given.setting;
    given_.setting.sizes = with_axes(setting.sizes, build(given.program).mesh(), setting.mesh);
  }

  Outcome run() {
    const Graph graph = build(given_.program);
    global_ = random_inputs(graph, given_.setting, given_.seed);
    const Result first = interp::run(graph, pieces(graph), given_.setting);
    if (!check_text(graph, "unscheduled")) return outcome_;
    if (!check_plans(graph, first, "unscheduled")) return outcome_;
    Applied applied = start(graph);
    Result last;
    bool exact = true;
    for (const Step& step : given_.steps) {
      if (step.verb == kCandidates) {
        legal_steps(applied);
        continue;
      }
      applied = apply(applied, step);
      ++outcome_.steps;
      const std::string after = "after " + coconet::text_of(step);
      const Result result = interp::run(applied.graph, pieces(applied.graph), given_.setting);
      exact = applied.exactness == Exactness::exact;
      const auto found = differs(given_.setting, applied.graph, result, graph, first, exact);
      if (found) {
        fail("interpreter, " + after + ", " + *found);
        return outcome_;
      }
      if (!check_text(applied.graph, after)) return outcome_;
      if (!check_plans(applied.graph, result, after)) return outcome_;
      last = result;
    }
    if (!runner_) return outcome_;
    check_runner({graph, given_.setting, pieces(graph), first, true, outcome_.steps == 0, true});
    if (outcome_.steps > 0 && !outcome_.failure) {
      check_runner(
          {applied.graph, given_.setting, pieces(applied.graph), last, false, true, exact});
    }
    return outcome_;
  }

 private:
  std::map<std::string, Pieces> pieces(const Graph& graph) const {
    return pieces_of(graph, given_.setting, global_);
  }

  bool fail(const std::string& what) {
    outcome_.failure = what;
    return false;
  }

  // Without the declarations, some of which the program may not use.
  static std::string program_part(const std::string& text) {
    return text.substr(text.find("program "));
  }

  bool check_text(const Graph& graph, const std::string& where) {
    const std::string text = print(graph);
    try {
      if (program_part(print(parse_program(text), true)) == program_part(print(graph, true))) {
        return true;
      }
      return fail("text, " + where + ": parses back to another graph:\n" + text);
    } catch (const std::exception& error) {
      return fail("text, " + where + ": " + error.what() + "\n" + text);
    }
  }

  bool check_plans(const Graph& graph, const Result& want, const std::string& where) {
    const std::vector<std::string> staged = drawn_to_stage(graph, given_.seed);
    if (!check_plan(graph, want, where, {})) return false;
    return staged.empty() || check_plan(graph, want, "staged, " + where, staged);
  }

  // Each pair of an input and an output that may be one memory, as if it were.
  void check_in_place(const plan::Plan& plan) {
    const std::vector<bool> written = plan::written_buffers(plan);
    for (int a = 0; a < static_cast<int>(plan.buffers.size()); ++a) {
      for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
        const bool both = plan.buffers[a].of_caller && plan.buffers[b].of_caller;
        if (!both || written[a] || !written[b] || !plan::may_share_memory(plan, {a}, {b})) continue;
        ++outcome_.in_place;
        plan::Plan shared = plan;
        shared.buffers[b].slot = shared.buffers[a].slot;
        plan::verify_contributions(bind(shared, 3));
      }
    }
  }

  plan::BoundPlan bind(const plan::Plan& plan, std::int64_t chunks) const {
    return plan::bind(plan, given_.setting.sizes, given_.setting.mesh,
                      std::vector<std::int64_t>(plan.overlaps.size(), chunks));
  }

  // The plan of `graph` gives what the interpreter gives.
  bool check_plan(const Graph& graph, const Result& want, const std::string& where,
                  const std::vector<std::string>& staged) {
    plan::Plan plan;
    try {
      plan = plan::from_schedule(graph, {.staged = staged});
      plan::verify(plan);
      for (std::int64_t chunks = 1; is_small() && chunks <= (plan.overlaps.empty() ? 1 : 3);
           chunks += 2) {
        const plan::BoundPlan bound = bind(plan, chunks);
        plan::verify_order(bound);
        plan::verify_contributions(bound);
      }
      if (is_small()) check_in_place(plan);
    } catch (const std::exception& error) {
      return fail("plan, " + where + ": " + error.what());
    }
    if (!plan.overlaps.empty()) ++outcome_.chunked;
    const std::vector<std::int64_t> chunks(plan.overlaps.size(), 1 + given_.seed / 4 % 8);
    const plan::BoundPlan in_chunks =
        plan::bind(plan, given_.setting.sizes, given_.setting.mesh, chunks);
    if (std::ranges::any_of(in_chunks.buffers,
                            [](const auto& buffer) { return buffer.ring > 0; })) {
      ++outcome_.rings;
    }
    const auto copies = [](const plan::Launch& launch) { return launch.staging; };
    if (std::ranges::any_of(plan.launches, copies)) ++outcome_.staged;
    const auto inputs = pieces(graph);
    for (int run = 0; run < 2; ++run) {
      simulate::ExecutorOptions options;
      options.seed = given_.seed + runs_;
      options.policy = simulate::policy_of(runs_++);
      if (run == 1) options.chunks = chunks;
      // One in four graphs is called again and again.
      const int calls = run == 1 && (given_.seed + runs_ / 2) % 4 == 0
                            ? 2 + static_cast<int>(given_.seed % 2)
                            : 1;
      std::string how = "executor, " + where + ", policy " +
                        std::to_string(static_cast<int>(options.policy)) + ": ";
      try {
        const auto got =
            simulate::execute_calls(plan, calls_in_a_row(given_.setting, inputs, calls), options);
        const std::vector<Result> more =
            calls > 1 ? meanings(graph, given_.setting, inputs, calls) : std::vector<Result>{want};
        for (int call = 0; call < calls; ++call) {
          const auto found = differs_from(graph, got[call], more[call]);
          if (found) return fail(how + "call " + std::to_string(call) + ", " + *found);
        }
      } catch (const InternalError& error) {
        return fail(how + error.what());
      }
    }
    return true;
  }

  bool is_small() const {
    std::int64_t largest = 0;
    for (const auto& [name, size] : given_.setting.sizes) largest = std::max(largest, size);
    const bool lists =
        std::ranges::any_of(given_.program.statements, [](const Statement& statement) {
          const Input* input = std::get_if<Input>(&statement.op);
          return input && input->type.is_list();
        });
    const Dim packed = Dim::packed(Dim::named("L_i"));
    return largest <= 128 && (!lists || packed.bind(given_.setting.sizes) <= kBlock);
  }

  void check_runner(const RunnerCall& call) {
    if (const auto found = runner_(call)) {
      fail("runner, " + std::string(call.unscheduled ? "unscheduled: " : "scheduled: ") + *found);
    }
  }

  static std::optional<std::string> differs_from(const Graph& graph, const Result& got,
                                                 const Result& want) {
    for (const auto& [name, pieces] : want.outputs) {
      const DTypeKind kind = output_type(graph, name).dtype.kind;
      const auto compared = interp::compare(kind, got.outputs.at(name), pieces);
      if (!compared.equal()) return "output " + name + ", " + compared.first->text();
    }
    for (const auto& [name, pieces] : want.storage) {
      const DTypeKind kind = graph.node(graph.find(name)).type.dtype.kind;
      const auto compared = interp::compare(kind, got.storage.at(name), pieces);
      if (!compared.equal()) return "storage " + name + ", " + compared.first->text();
    }
    return std::nullopt;
  }

  Case given_;
  const Runner& runner_;
  Tensors global_;
  std::uint64_t runs_ = 0;
  Outcome outcome_;
};

}  // namespace

std::optional<std::string> differs(const interp::Setting& setting, const Graph& got_graph,
                                   const Result& got, const Graph& want_graph, const Result& want,
                                   bool exact) {
  for (const auto& [name, pieces] : want.outputs) {
    const auto found = tensor_differs(setting, output_type(got_graph, name), got.outputs.at(name),
                                      output_type(want_graph, name), pieces, exact);
    if (found) return "output " + name + ": " + *found;
  }
  for (const auto& [name, pieces] : want.storage) {
    const auto found =
        tensor_differs(setting, got_graph.node(got_graph.find(name)).type, got.storage.at(name),
                       want_graph.node(want_graph.find(name)).type, pieces, exact);
    if (found) return "storage " + name + ": " + *found;
  }
  return std::nullopt;
}

namespace {

bool folds_members(const Program& program) {
  return std::ranges::any_of(program.statements, [](const Statement& statement) {
    const Across* across = std::get_if<Across>(&statement.op);
    return across && across->size;
  });
}

// All of the size that an across of members says (ProgramWriter::reduction).
void make_members_alike(Sizes& sizes) {
  for (std::int64_t& size : sizes.lists.at("L_i")) size = sizes.at("N");
}

// Every rank of the executor holds an element's value in some 50 bytes.
void make_affordable(const Graph& graph, interp::Setting& setting) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 20;
  for (const Node& node : graph.nodes()) {
    const auto elements = [&] {
      std::int64_t out = 1;
      for (std::int64_t size : interp::global_sizes(node.type, setting)) out *= size;
      return out;
    };
    while (setting.sizes.at("N") > 1 && elements() > kMostElements) setting.sizes.at("N") /= 2;
  }
}

}  // namespace

std::vector<std::string> drawn_to_stage(const Graph& graph, std::uint64_t seed) {
  if (seed % 4 < 2) return {};
  std::vector<std::string> names = plan::names_to_stage(graph);
  std::mt19937_64 random(seed);
  if (seed % 4 == 2) std::erase_if(names, [&](const std::string&) { return random() % 2 == 0; });
  return names;
}

Case random_case(std::uint64_t seed) {
  Random random(seed);
  Case out;
  out.seed = seed;
  for (;;) {  // a program may be refused as a whole (a reader of the old value after its update)
    try {
      out.program = random_program(random);
      out.setting = random_setting(random, out.program.axes);
      const Graph graph = build(out.program);
      make_affordable(graph, out.setting);
      if (folds_members(out.program)) make_members_alike(out.setting.sizes);
      Applied applied = start(graph);
      const int steps = random.below(kMostSteps + 1);
      for (int s = 0; s < steps; ++s) {
        const auto stepped = random_step(random, applied, s);
        if (!stepped) break;
        out.steps.push_back(stepped->step);
        if (!stepped->after) break;
        applied = *stepped->after;
      }
      return out;
    } catch (const UserError&) {
      out.steps.clear();
    } catch (const std::exception&) {
      return out;  // run_case finds it again
    }
  }
}

Outcome run_case(const Case& given, const Runner& runner) {
  try {
    return CaseRun(given, runner).run();
  } catch (const UserError&) {
    throw;  // no case
  } catch (const std::exception& error) {
    Outcome outcome;
    outcome.failure = error.what();
    return outcome;
  }
}

std::string text_of(const Case& given) {
  std::string out = "seed " + std::to_string(given.seed) + "\n";
  try {
    out += print(build(given.program), true);
  } catch (const std::exception& error) {
    out += std::string("(no graph: ") + error.what() + ")\n";
  }
  Schedule schedule{"failing", "random", given.steps, {}};
  out += coconet::text_of(schedule) + "\nsizes";
  for (const auto& [name, size] : given.setting.sizes) {
    out += " " + name + "=" + std::to_string(size);
  }
  for (const auto& [name, list] : given.setting.sizes.lists) {
    out += " " + name + "=";
    for (std::int64_t size : list) out += std::to_string(size) + ",";
  }
  out += ", mesh";
  for (int size : given.setting.mesh.sizes) out += " " + std::to_string(size);
  return out + ", run seed " + std::to_string(given.setting.seed) + ", call " +
         std::to_string(given.setting.call_number) + "\n";
}

}  // namespace coconet::property
