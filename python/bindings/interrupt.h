// Work that starts ranks, and Ctrl-C.
#pragma once

#include <functional>

namespace coconet::python {

// Runs `work` without the interpreter's lock. SIGINT ends the ranks that it starts meanwhile, as
// Python's own handler, which they would inherit, only notes it; then KeyboardInterrupt is raised
// in place of their error.
void interruptible(const std::function<void()>& work);

}  // namespace coconet::python
