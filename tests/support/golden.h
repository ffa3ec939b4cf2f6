// Texts that stand in files: what a test makes must be what the file says.
#pragma once

#include <string>

namespace coconet {

// Compares `text` with tests/golden/<name>. A missing file or another text fails and shows the
// first line that differs. With the environment variable COCONET_UPDATE_GOLDEN=1 the file is
// written instead.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace coconet
