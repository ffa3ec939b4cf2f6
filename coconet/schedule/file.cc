#include "coconet/schedule/file.h"

#include <algorithm>
#include <map>

#include "coconet/base/nearest.h"
#include "coconet/io/byte_source.h"
#include "coconet/program/parser.h"
#include "coconet/program/read.h"
#include "coconet/schedule/read_choice.h"

namespace coconet {
namespace {

using syntax::Cursor;
using syntax::Word;

constexpr std::size_t kLargestFile = 16 << 20;  // bytes

std::vector<std::string> texts_of(const std::vector<Word>& words) {
  std::vector<std::string> out;
  for (const Word& word : words) out.push_back(word.text);
  return out;
}

StepArgument step_argument(Cursor& cursor) {
  if (cursor.accept("(")) return cursor.slice();
  if (!cursor.accept("[")) {
    return cursor.expect_name("an argument of a step (a name, [names] or a slice)").text;
  }
  std::vector<std::string> names = texts_of(cursor.names("the name of a value"));
  cursor.expect("]", "after a list of names");
  return names;
}

Step parse_step(Cursor& cursor) {
  const syntax::Place first = cursor.peek().place;
  Step step;
  std::vector<Word> names = cursor.names("a step, as `rs, ag = split(total)`,");
  if (cursor.accept("=")) {
    step.results = texts_of(names);
    step.verb = cursor.expect_name("the verb of a step").text;
  } else if (names.size() == 1) {
    step.verb = names[0].text;
  } else {
    cursor.expect("=", "after the names of a step's results");
  }
  cursor.expect("(", "before the arguments of a step");
  if (!cursor.is(")")) {
    do {
      step.arguments.push_back(step_argument(cursor));
    } while (cursor.accept(","));
  }
  cursor.expect(")", "after the arguments of a step");
  step.where = cursor.where(syntax::span(first, cursor.last_place()));
  return step;
}

// A schedule as read, and where it says which program it is for.
struct ParsedSchedule {
  Schedule schedule;
  Where program;
};

// Behind the word `schedule`. Errors in steps go to the cursor's list.
ParsedSchedule parse_schedule_item(Cursor& cursor) {
  ParsedSchedule out;
  const auto [name, program] = parse_heading(cursor, "schedule");
  out.schedule.name = name.text;
  out.schedule.program = program.text;
  out.schedule.where = cursor.where(name.place);
  out.program = cursor.where(program.place);
  const syntax::Place opened = cursor.expect("{", "before the steps of a schedule").place;
  while (!cursor.accept("}")) {
    if (cursor.at_end() || cursor.at_item()) {
      cursor.fail("found " + Cursor::shown(cursor.peek()) +
                  " where `}` is needed to close the `{` of line " + std::to_string(opened.line));
    }
    const std::size_t began = cursor.position();
    try {
      out.schedule.steps.push_back(parse_step(cursor));
      cursor.accept(";");
    } catch (const UserError& error) {
      cursor.errors().add(error);
      cursor.skip_to_statement(began);
    }
  }
  return out;
}

struct Parsed {
  syntax::Tree tree;
  std::vector<ParsedSchedule> schedules;
  std::vector<ParsedChoice> choices;
};

Parsed parse_items(Cursor& cursor) {
  Parsed out;
  syntax::Parser parser(cursor, out.tree);
  while (!cursor.at_end() && !cursor.errors().full()) {
    const std::size_t began = cursor.position();
    const bool choice = cursor.is("choice");
    if (!choice && !cursor.is("schedule")) {
      parser.item();
      continue;
    }
    cursor.advance();
    try {
      if (choice) {
        out.choices.push_back(parse_choice(cursor));
      } else {
        out.schedules.push_back(parse_schedule_item(cursor));
      }
    } catch (const UserError& error) {
      cursor.errors().add(error);
      cursor.skip_to_item(began);
    }
  }
  return out;
}

// Schedules and choices of one program have different names.
class NameCheck {
 public:
  NameCheck(const std::vector<std::string>& programs, ErrorList& errors)
      : programs_(programs), errors_(errors) {}

  void check(const std::string& kind, const std::string& program, const Where& program_at,
             const std::string& name, const Where& at) {
    if (std::find(programs_.begin(), programs_.end(), program) == programs_.end()) {
      add("`" + program + "` is not a program of this file" + suggestion(program, programs_),
          program_at);
    }
    if (name == "unscheduled") {
      add("a " + kind + " cannot be called unscheduled, which is the program without one", at);
    }
    const auto [other, fresh] = seen_.insert({{program, name}, kind});
    if (fresh) return;
    add(other->second == kind
            ? "the " + kind + " " + name + " for " + program + " stands twice in this file"
            : "the " + kind + " " + name + " for " + program + " has the name of a " +
                  other->second + "; needed is another",
        at);
  }

 private:
  void add(const std::string& message, const Where& at) {
    errors_.add(UserError(ErrorKind::schedule, message, at));
  }

  const std::vector<std::string>& programs_;
  ErrorList& errors_;
  std::map<std::pair<std::string, std::string>, std::string> seen_;  // their kinds
};

// Cases that nothing comes to, as an earlier one holds for all of their sizes.
void check_reached(const Choice& choice, ErrorList& errors) {
  std::map<std::string, std::int64_t> most;
  for (const Case& one : choice.cases) {
    if (one.dim.empty()) continue;
    const auto [before, fresh] = most.insert({one.dim, one.most});
    if (fresh) continue;
    if (one.most <= before->second) {
      errors.add(UserError(ErrorKind::schedule,
                           "no size comes to this case, as one before it has " + one.dim +
                               " <= " + std::to_string(before->second),
                           one.where));
    }
    before->second = std::max(before->second, one.most);
  }
}

void check_cases(const Choice& choice, const File& file, ErrorList& errors) {
  const Graph& graph = file.program(choice.program);
  std::vector<std::string> schedules;
  for (const Schedule& schedule : file.schedules) {
    if (schedule.program == choice.program) schedules.push_back(schedule.name);
  }
  check_reached(choice, errors);
  for (const Case& one : choice.cases) {
    const std::vector<std::string>& dims = graph.header().dims;
    if (!one.dim.empty() && std::ranges::count(dims, one.dim) == 0) {
      errors.add(UserError(ErrorKind::schedule,
                           "`" + one.dim + "` is no dim of " + choice.program +
                               suggestion(one.dim, dims) + "; there are: " + listed(dims),
                           one.where));
    }
    if (one.schedule.empty() || std::ranges::count(schedules, one.schedule) > 0) continue;
    errors.add(UserError(ErrorKind::schedule,
                         "`" + one.schedule + "` is not a schedule for " + choice.program +
                             suggestion(one.schedule, schedules) +
                             "; there are: " + listed(schedules) + ", and unscheduled",
                         one.where));
  }
}

}  // namespace

File parse_file(std::string_view text, const std::string& file_name, const ReadOptions& options) {
  ErrorList errors;
  if (text.size() > kLargestFile) {
    throw UserError(ErrorKind::syntax, "a file of programs has at most 16 MiB", {file_name});
  }
  Cursor cursor(text, file_name, errors);
  const Parsed parsed = parse_items(cursor);
  Programs programs = read_programs(parsed.tree, file_name, options, errors);
  NameCheck names(programs.names, errors);
  for (const auto& [schedule, program] : parsed.schedules) {
    names.check("schedule", schedule.program, program, schedule.name, schedule.where);
  }
  for (const auto& [choice, program] : parsed.choices) {
    names.check("choice", choice.program, program, choice.name, choice.where);
  }
  errors.throw_if_any();
  File out{std::move(programs.graphs), {}, {}, std::move(programs.dtypes)};
  for (const ParsedSchedule& item : parsed.schedules) out.schedules.push_back(item.schedule);
  for (const auto& [choice, program] : parsed.choices) {
    if (options.only.empty() || choice.program == options.only) check_cases(choice, out, errors);
    out.choices.push_back(choice);
  }
  errors.throw_if_any();
  return out;
}

File read_file(const std::string& path, std::string* text) {
  const FileSource source(path);
  std::string local;
  std::string& read = text ? *text : local;
  read = source.read_text(0, std::min<std::uint64_t>(source.size(), kLargestFile + 1));
  return parse_file(read, path);
}

Graph parse_program(std::string_view text, const std::string& file_name) {
  return parse_file(text, file_name).program();
}

Schedule parse_schedule(std::string_view text, const std::string& file_name) {
  ErrorList errors;
  Cursor cursor(text, file_name, errors);
  ParsedSchedule out;
  try {
    cursor.expect("schedule", "to begin a schedule");
    out = parse_schedule_item(cursor);
    if (!cursor.at_end()) {
      cursor.fail("found " + Cursor::shown(cursor.peek()) + " behind the schedule; one is needed");
    }
  } catch (const UserError& error) {
    errors.add(error);
  }
  errors.throw_if_any();
  return out.schedule;
}

const Graph& File::program(std::string_view name) const {
  if (name.empty() && programs.size() == 1) return programs[0];
  std::vector<std::string> names;
  for (const Graph& graph : programs) {
    if (graph.header().program == name) return graph;
    names.push_back(graph.header().program);
  }
  const std::string found = name.empty() ? "which program is meant? the file has "
                                         : "`" + std::string(name) +
                                               "` is not a program of the "
                                               "file, which has ";
  throw UserError(ErrorKind::usage, found + listed(names));
}

const Choice* File::choice(std::string_view program, std::string_view name) const {
  for (const Choice& choice : choices) {
    if (choice.program == program && choice.name == name) return &choice;
  }
  return nullptr;
}

const Schedule& File::schedule(std::string_view program, std::string_view name) const {
  std::vector<std::string> names;
  for (const Schedule& schedule : schedules) {
    if (schedule.program != program) continue;
    if (schedule.name == name) return schedule;
    names.push_back(schedule.name);
  }
  std::vector<std::string> all = names;
  for (const Choice& other : choices) {
    if (other.program != program) continue;
    all.push_back(other.name);
    if (other.name == name) {
      throw UserError(ErrorKind::usage, "`" + std::string(name) +
                                            "` is a choice among schedules, for run and "
                                            "build; needed is one schedule: " +
                                            listed(names));
    }
  }
  throw UserError(ErrorKind::usage, "`" + std::string(name) + "` is not a schedule for " +
                                        std::string(program) + suggestion(name, all) +
                                        "; there are: " + listed(all));
}

}  // namespace coconet
