#include "coconet/prebuilt/library_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/graph/walk.h"
#include "coconet/plan/bind.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/source/cpp/from_plan.h"

namespace coconet::prebuilt {
namespace {

constexpr const char* kFunctions = R"(
/* Makes this process rank `rank` of the job, when all ranks have come: as many processes of this
   machine and this user as the mesh has places, each with this library, the same setting and the
   same name of a job, which no other job on the machine has. 0 if it cannot: {0}_error says why. */
{0}_rank* {0}_join(const char* job, int32_t rank, const {0}_setting* setting);

/* Memory of this rank's piece of an input, state or output (above), which calls read and write; its
   size in bytes, if `bytes` is not 0. Inputs are to be written before the first call; states begin
   as zeros. 0 for another name. */
void* {0}_tensor({0}_rank* rank, const char* name, size_t* bytes);

/* Calls read and write the tensor in memory of yours from now on, of exactly the piece's size: of
   tensors that the library was built for with --staged. 0, or -1: {0}_error says why. */
int {0}_bind({0}_rank* rank, const char* name, void* memory, size_t bytes);

/* The input's values stay as they are until this is said again: what a product makes of them is
   kept. 0, or -1. */
int {0}_hold_constant({0}_rank* rank, const char* name);

/* One call; all ranks make the same. 0, or -1: then the job is over for all of its ranks. By the
   thread that joined. */
int {0}_call({0}_rank* rank);

/* The rank has left; its memory is gone. */
void {0}_leave({0}_rank* rank);

/* Of the last function of this thread: what went wrong, or "". */
const char* {0}_error(void);
)";

constexpr const char* kWrappers = R"(
const char* {0}_error(void) {{ return coconet_built_error(); }}
void* {0}_tensor({0}_rank* rank, const char* name, size_t* bytes) {{
  return coconet_built_tensor(rank, name, bytes);
}}
int {0}_bind({0}_rank* rank, const char* name, void* memory, size_t bytes) {{
  return coconet_built_bind(rank, name, memory, bytes);
}}
int {0}_hold_constant({0}_rank* rank, const char* name) {{
  return coconet_built_hold_constant(rank, name);
}}
int {0}_call({0}_rank* rank) {{ return coconet_built_call(rank); }}
void {0}_leave({0}_rank* rank) {{ coconet_built_leave(rank); }}
)";

std::string module_name(std::size_t schedule) {
  return std::string(source::cpp::kModuleName) + "_" + std::to_string(schedule);
}

// A string literal, a line for each of the text.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n\"\n    \"";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string file_text(const Contents& contents) {
  std::string out = print(contents.program);
  for (const Schedule& schedule : contents.schedules) out += "\n" + text_of(schedule);
  return out + "\n" + text_of(contents.choice);
}

// Of the choice, each once.
std::vector<std::string> schedule_names(const Choice& choice) {
  std::vector<std::string> out;
  for (const Case& one : choice.cases) {
    if (std::ranges::count(out, one.schedule) == 0) out.push_back(one.schedule);
  }
  return out;
}

std::string tensors_text(const Graph& program) {
  std::string out;
  const auto add = [&](const std::string& kind, const std::string& name, const Node& node) {
    TensorType type = node.type;
    type.dtype = DType{type.dtype.kind};  // not by a parameter's name
    const Input* input = std::get_if<Input>(&node.op);
    const bool has_default = input && input->default_value;
    out += fmt::format("   {:8} {}: {}{}\n", kind, name, type.text(program.mesh()),
                       has_default ? fmt::format(" = {}", *input->default_value) : "");
  };
  for (const Node& node : program.nodes()) {
    if (const Input* input = std::get_if<Input>(&node.op)) {
      const bool state = input->kind == InputKind::state;
      const bool scalar = input->kind == InputKind::scalar;
      add(state ? "state" : scalar ? "scalar" : "input", node.name, node);
    }
  }
  for (const Output& output : program.outputs()) {
    add("output", output.name, program.node(output.node));
  }
  return out;
}

// As each schedule has them: it may slice a state.
std::string tensors_text(const Contents& contents) {
  std::vector<std::pair<std::string, std::string>> all;  // tensors; schedules
  for (const std::string& name : schedule_names(contents.choice)) {
    const auto is_named = [&](const Schedule& schedule) { return schedule.name == name; };
    const auto schedule = std::ranges::find_if(contents.schedules, is_named);
    const bool plain = schedule == contents.schedules.end();
    const std::string text =
        tensors_text(plain ? contents.program : apply(contents.program, *schedule).graph);
    const std::string called = plain ? "unscheduled" : name;
    const auto same = std::ranges::find(all, text, [](const auto& one) { return one.first; });
    if (same == all.end()) {
      all.emplace_back(text, called);
    } else {
      same->second += ", " + called;
    }
  }
  std::string out;
  for (const auto& [text, schedules] : all) {
    out += (all.size() > 1 ? "   " + schedules + ":\n" : "") + text + "\n";
  }
  return out;
}

// Which sizes have which schedule, where there are several.
std::string cases_text(const Choice& choice) {
  return choice.cases.size() < 2 ? "" : text_of(choice) + "\n";
}

std::string setting_text(const Graph& program) {
  std::string out = "typedef struct {\n";
  for (const std::string& axis : program.mesh().axes) {
    out += "  int32_t mesh_" + axis + "; /* ranks on this axis */\n";
  }
  const auto lists = list_dims(program);
  for (const std::string& dim : program.header().dims) {
    if (lists.contains(dim)) {
      out += "  const int64_t* dim_" + dim + "; /* of each member of the list */\n";
      out += "  int64_t dim_" + dim + "_count; /* members */\n";
    } else {
      out += "  int64_t dim_" + dim + ";\n";
    }
  }
  return out +
         "  uint64_t seed;   /* of dropout */\n"
         "  int32_t threads; /* of a rank; 0: as many as have a core */\n"
         "  double timeout;  /* seconds that a living rank is waited for; 0: 1800 */\n} " +
         program.header().program + "_setting;\n";
}

std::string join_text(const Graph& program) {
  const std::string& name = program.header().program;
  std::string mesh, sizes, counts;
  for (const std::string& axis : program.mesh().axes) mesh += "setting->mesh_" + axis + ", ";
  const auto lists = list_dims(program);
  for (const std::string& dim : program.header().dims) {
    const bool list = lists.contains(dim);
    sizes += std::string(list ? "" : "&") + "setting->dim_" + dim + ", ";
    counts += list ? "setting->dim_" + dim + "_count, " : "1, ";
  }
  return fmt::format(
      "{0}_rank* {0}_join(const char* job, int32_t rank, const {0}_setting* setting) {{\n"
      "  if (!setting) {{\n"
      "    return static_cast<{0}_rank*>(coconet_built_join(&kBuilt, nullptr, job, rank));\n  }}\n"
      "  const int32_t mesh[] = {{{1}0}};\n"
      "  const int64_t* const sizes[] = {{{2}nullptr}};\n"
      "  const int64_t counts[] = {{{3}0}};\n"
      "  const coconet::prebuilt::BuiltSetting given = {{mesh, sizes, counts, setting->seed,\n"
      "                                                 setting->threads, setting->timeout}};\n"
      "  return static_cast<{0}_rank*>(coconet_built_join(&kBuilt, &given, job, rank));\n}}\n",
      name, mesh, sizes, counts);
}

std::string functions_source(const Contents& contents) {
  const std::string& name = contents.program.header().program;
  const std::vector<std::string> schedules = schedule_names(contents.choice);
  std::string out = "#pragma GCC visibility push(default)\n" + header_text(contents) +
                    "#pragma GCC visibility pop\n\n#include \"coconet/prebuilt/abi.h\"\n\n";
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    out += "extern \"C\" const coconet::kernel::Module " + module_name(s) + ";\n";
  }
  out += "\nnamespace {\n\nconstexpr coconet::prebuilt::BuiltSchedule kSchedules[] = {\n";
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    out += fmt::format("    {{\"{}\", &{}}},\n", schedules[s], module_name(s));
  }
  out += "};\nconstexpr const char* kStaged[] = {";
  for (const std::string& staged : contents.staged) out += literal(staged) + ", ";
  out += "nullptr};\nconstexpr const char kText[] =\n    " + literal(file_text(contents)) + ";\n";
  out += fmt::format(
      "constexpr coconet::prebuilt::Built kBuilt = {{kText, \"{}\", kSchedules, {}, kStaged, {}}};"
      "\n\n}}  // namespace\n\nstruct {}_rank {{}};\n\n",
      contents.choice.name, schedules.size(), contents.staged.size(), name);
  std::string functions = join_text(contents.program) + fmt::format(fmt::runtime(kWrappers), name);
  return out + "extern \"C\" {\n" + functions + "}\n";
}

}  // namespace

std::string header_text(const Contents& contents) {
  const std::string& name = contents.program.header().program;
  std::string out = fmt::format(
      "/* The program {0}, compiled by CoCoNet for processors such as that of the machine that "
      "did.\n"
      "   Its tensors; each rank holds its piece, packed, in the order of the indices (of what is\n"
      "   sliced, the bytes that {0}_tensor tells; docs/language.md says which elements):\n\n"
      "{1}{2}*/\n"
      "#ifndef COCONET_BUILT_{0}\n#define COCONET_BUILT_{0}\n\n#include <stddef.h>\n"
      "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "typedef struct {0}_rank {0}_rank;\n\n",
      name, tensors_text(contents), cases_text(contents.choice));
  std::string functions = kFunctions;
  for (std::size_t at = 0; (at = functions.find("{0}", at)) != functions.npos;) {
    functions.replace(at, 3, name);
  }
  return out + setting_text(contents.program) + functions +
         "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

plan::Plan plan_of(const File& file, const std::string& schedule,
                   const std::vector<std::string>& staged) {
  const Graph& program = file.program();
  const Applied applied = schedule.empty()
                              ? start(program)
                              : apply(program, file.schedule(program.header().program, schedule));
  return plan::from_schedule(applied.graph, {.schedule = schedule, .staged = staged});
}

std::vector<std::string> source_texts(const Contents& contents) {
  const File file = parse_file(file_text(contents));
  std::vector<std::string> out = {functions_source(contents)};
  const std::vector<std::string> schedules = schedule_names(contents.choice);
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    const plan::Plan plan = plan_of(file, schedules[s], contents.staged);
    for (const Case& one : contents.choice.cases) {
      if (one.schedule == schedules[s]) plan::check_chunks(plan, one.knobs.chunks);
    }
    out.push_back(source::cpp::from_plan(plan, module_name(s)));
  }
  return out;
}

}  // namespace coconet::prebuilt
