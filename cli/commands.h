// The subcommands: each adds itself to the tool; what it does runs when it is parsed.
#pragma once

#include <functional>

#include "cli/load.h"

namespace CLI {
class App;
}

namespace coconet::cli {

// A subcommand's work; its exit code (README.md: 0 fine, 1 a failed --verify or --want).
using Command = std::function<int(Context&)>;

// Each adds its subcommand to `app` and sets `chosen` when the user names it.
void add_check(CLI::App& app, Command& chosen);
void add_show(CLI::App& app, Command& chosen);
void add_run(CLI::App& app, Command& chosen);
void add_explain(CLI::App& app, Command& chosen);
void add_tune(CLI::App& app, Command& chosen);
void add_build(CLI::App& app, Command& chosen);

}  // namespace coconet::cli
