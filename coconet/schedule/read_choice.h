// Reads a `choice` of a file.
#pragma once

#include <string>

#include "coconet/program/cursor.h"
#include "coconet/schedule/choice.h"

namespace coconet {

// `NAME for PROGRAM`, behind the word `schedule` or `choice`.
struct Heading {
  syntax::Word name, program;
};
Heading parse_heading(syntax::Cursor& cursor, const std::string& kind);

struct ParsedChoice {
  Choice choice;
  Where program;  // where it says which program it is for
};

// Behind the word `choice`. UserError(syntax).
ParsedChoice parse_choice(syntax::Cursor& cursor);

}  // namespace coconet
