#include "coconet/schedule/file.h"

#include <algorithm>

#include "coconet/base/nearest.h"
#include "coconet/io/byte_source.h"
#include "coconet/program/parser.h"
#include "coconet/program/read.h"

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
  const Word name = cursor.expect_name("the name of a schedule");
  cursor.expect("for", "between the name of a schedule and that of its program");
  const Word program = cursor.expect_name("the name of a program");
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
};

Parsed parse_items(Cursor& cursor) {
  Parsed out;
  syntax::Parser parser(cursor, out.tree);
  while (!cursor.at_end() && !cursor.errors().full()) {
    const std::size_t began = cursor.position();
    if (!cursor.accept("schedule")) {
      parser.item();
      continue;
    }
    try {
      out.schedules.push_back(parse_schedule_item(cursor));
    } catch (const UserError& error) {
      cursor.errors().add(error);
      cursor.skip_to_item(began);
    }
  }
  return out;
}

void check_schedules(const Parsed& parsed, const std::vector<std::string>& programs,
                     ErrorList& errors) {
  std::vector<std::pair<std::string, std::string>> seen;
  for (const ParsedSchedule& item : parsed.schedules) {
    const Schedule& schedule = item.schedule;
    if (std::find(programs.begin(), programs.end(), schedule.program) == programs.end()) {
      errors.add(UserError(ErrorKind::schedule,
                           "`" + schedule.program + "` is not a program of this file" +
                               suggestion(schedule.program, programs),
                           item.program));
    }
    const std::pair<std::string, std::string> key(schedule.program, schedule.name);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      errors.add(UserError(ErrorKind::schedule,
                           "the schedule " + schedule.name + " for " + schedule.program +
                               " stands twice in this file",
                           schedule.where));
    }
    seen.push_back(key);
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
  check_schedules(parsed, programs.names, errors);
  errors.throw_if_any();
  File out{std::move(programs.graphs), {}, std::move(programs.dtypes)};
  for (const ParsedSchedule& item : parsed.schedules) out.schedules.push_back(item.schedule);
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

const Schedule& File::schedule(std::string_view program, std::string_view name) const {
  std::vector<std::string> names;
  for (const Schedule& schedule : schedules) {
    if (schedule.program != program) continue;
    if (schedule.name == name) return schedule;
    names.push_back(schedule.name);
  }
  throw UserError(ErrorKind::usage, "`" + std::string(name) + "` is not a schedule for " +
                                        std::string(program) + suggestion(name, names) +
                                        "; there are: " + listed(names));
}

}  // namespace coconet
