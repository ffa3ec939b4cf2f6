#include "coconet/schedule/read_choice.h"

#include "coconet/base/nearest.h"

namespace coconet {
namespace {

using syntax::Cursor;
using syntax::Place;
using syntax::Word;

void parse_threads(Cursor& cursor, Knobs& knobs) {
  if (knobs.threads > 0) cursor.fail("a case has `threads` once, a number of threads of a rank");
  cursor.advance();
  cursor.advance();
  const Place place = cursor.peek().place;
  const std::int64_t threads = cursor.expect_integer("a number of threads");
  if (threads < 1 || threads > Knobs::kMostThreads) {
    cursor.fail(place, "a rank has from 1 to " + std::to_string(Knobs::kMostThreads) +
                           " threads; found " + std::to_string(threads));
  }
  knobs.threads = static_cast<int>(threads);
  cursor.expect(")", "after a number of threads");
}

// What may stand behind the schedule of a case.
void parse_knobs(Cursor& cursor, Knobs& knobs) {
  for (;;) {
    const bool one_shot = cursor.is("one_shot");
    if (one_shot || cursor.is("direct")) {
      if (knobs.one_shot) cursor.fail("a case has one protocol: one_shot or direct");
      cursor.advance();
      knobs.one_shot = one_shot;
      continue;
    }
    // A dim may be called as these are.
    const bool opens = cursor.peek(1).is("(");
    if (opens && cursor.is("threads")) {
      parse_threads(cursor, knobs);
      continue;
    }
    if (!opens || !cursor.is("chunks")) break;
    if (!knobs.chunks.empty()) cursor.fail("a case has `chunks` once, a number for each group");
    cursor.advance();
    cursor.advance();
    do {
      knobs.chunks.push_back(cursor.expect_integer("a number of chunks"));
    } while (cursor.accept(","));
    cursor.expect(")", "after numbers of chunks");
  }
  const bool begins_case = cursor.peek(1).is("<=") || cursor.is("else");
  if (begins_case || cursor.is("}") || cursor.is(";") || cursor.at_end()) return;
  cursor.fail("found " + Cursor::shown(cursor.peek()) +
              " behind a case; there are the knobs chunks(N,M), one_shot, direct and "
              "threads(N), then `}` or another case");
}

Case parse_case(Cursor& cursor) {
  Case out;
  const Word word = cursor.expect_name("a case, as `N <= 4096: small` or `else: large`,");
  out.where = cursor.where(word.place);
  if (word.text != "else" || cursor.is("<=")) {
    out.dim = word.text;
    cursor.expect("<=", "between a dim and the largest size of the case");
    out.most = cursor.expect_integer("the largest size of the case");
  }
  cursor.expect(":", "before the schedule of a case");
  out.schedule = cursor.expect_name("the name of a schedule, or `unscheduled`").text;
  if (out.schedule == "unscheduled") out.schedule.clear();
  parse_knobs(cursor, out.knobs);
  return out;
}

}  // namespace

Heading parse_heading(Cursor& cursor, const std::string& kind) {
  Heading out;
  out.name = cursor.expect_name("the name of a " + kind);
  cursor.expect("for", "between the name of a " + kind + " and that of its program");
  out.program = cursor.expect_name("the name of a program");
  return out;
}

ParsedChoice parse_choice(Cursor& cursor) {
  ParsedChoice out;
  const auto [name, program] = parse_heading(cursor, "choice");
  out.choice.name = name.text;
  out.choice.program = program.text;
  out.choice.where = cursor.where(name.place);
  out.program = cursor.where(program.place);
  cursor.expect("{", "before the cases of a choice");
  bool all = false;
  while (!cursor.is("}")) {
    if (cursor.at_end()) cursor.fail("found the end of the text; a choice ends with `}`");
    if (all) cursor.fail("`else` is the last case of a choice; nothing comes to one behind it");
    out.choice.cases.push_back(parse_case(cursor));
    all = out.choice.cases.back().dim.empty();
    cursor.accept(";");
  }
  if (!all) cursor.fail("a choice ends with `else: SCHEDULE`, so that every size has one");
  cursor.advance();
  return out;
}

}  // namespace coconet
