// Reads a `choice` of a file.
#pragma once

#include "coconet/program/cursor.h"
#include "coconet/schedule/choice.h"

namespace coconet {

struct ParsedChoice {
  Choice choice;
  Where program;  // where it says which program it is for
};

// Behind the word `choice`. UserError(syntax).
ParsedChoice parse_choice(syntax::Cursor& cursor);

}  // namespace coconet
