// Cuts a failing case down while it still fails.
#include <algorithm>
#include <chrono>

#include "coconet/base/error.h"
#include "tests/property/property_case.h"

namespace coconet::property {
namespace {

bool fails(const Case& given, const Runner& runner) {
  try {
    return run_case(given, runner).failure.has_value();
  } catch (const UserError&) {
    return false;  // no legal case any more
  }
}

// Without statement `at`; who reads it reads `instead`.
Program without(const Program& program, int at, int instead) {
  Program out = program;
  const auto moved = [&](int id) {
    if (id == at) id = instead;
    return id > at ? id - 1 : id;
  };
  out.statements.erase(out.statements.begin() + at);
  for (Statement& statement : out.statements) {
    for (int& operand : statement.operands) operand = moved(operand);
  }
  std::vector<int> outputs;
  for (int output : out.outputs) {
    if (output == at && instead < 0) continue;
    const int to = moved(output);
    if (std::find(outputs.begin(), outputs.end(), to) == outputs.end()) outputs.push_back(to);
  }
  out.outputs = outputs;
  return out;
}

class Shrinking {
 public:
  Shrinking(Case best, const Runner& runner) : best_(std::move(best)), runner_(runner) {}

  Case run() {
    bool smaller = true;
    for (int rounds = 0; smaller && rounds < 8; ++rounds) {
      smaller = drop_steps();
      smaller |= drop_statements();
      smaller |= drop_outputs();
      smaller |= reduce_sizes();
    }
    return best_;
  }

 private:
  bool accept(const Case& candidate) {
    if (std::chrono::steady_clock::now() > deadline_) return false;
    if (!fails(candidate, runner_)) return false;
    best_ = candidate;
    return true;
  }

  bool drop_steps() {
    bool any = false;
    for (int s = static_cast<int>(best_.steps.size()) - 1; s >= 0; --s) {
      Case candidate = best_;
      candidate.steps.erase(candidate.steps.begin() + s);
      any |= accept(candidate);
    }
    return any;
  }

  bool drop_statements() {
    bool any = false;
    for (int i = static_cast<int>(best_.program.statements.size()) - 1; i >= 0; --i) {
      std::vector<int> instead = best_.program.statements[i].operands;
      instead.push_back(-1);
      for (int other : instead) {
        Case candidate = best_;
        candidate.program = without(best_.program, i, other);
        if (candidate.program.outputs.empty() || !valid(candidate.program)) continue;
        if (accept(candidate)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  static bool valid(const Program& program) {
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
      for (int operand : program.statements[i].operands) {
        if (operand < 0 || operand >= static_cast<int>(i)) return false;
      }
    }
    return true;
  }

  bool drop_outputs() {
    bool any = false;
    for (int o = static_cast<int>(best_.program.outputs.size()) - 1; o >= 0; --o) {
      Case candidate = best_;
      candidate.program.outputs.erase(candidate.program.outputs.begin() + o);
      any |= !candidate.program.outputs.empty() && accept(candidate);
    }
    return any;
  }

  bool reduce_lists() {
    bool any = false;
    for (const auto& [name, sizes] : Sizes(best_.setting.sizes).lists) {
      for (int k = static_cast<int>(sizes.size()) - 1; k >= 0; --k) {
        Case candidate = best_;
        std::vector<std::int64_t>& list = candidate.setting.sizes.lists[name];
        list.erase(list.begin() + k);
        const bool gone = accept(candidate);
        any |= gone;
        if (gone || best_.setting.sizes.lists[name][k] <= 1) continue;
        candidate = best_;
        candidate.setting.sizes.lists[name][k] = 1;
        any |= accept(candidate);
      }
    }
    return any;
  }

  bool reduce_sizes() {
    bool any = false;
    for (auto& [name, size] : Sizes(best_.setting.sizes)) {
      for (std::int64_t smaller : {std::int64_t{1}, std::int64_t{2}, size / 2, size - 1}) {
        if (smaller < 0 || smaller >= best_.setting.sizes.at(name)) continue;
        Case candidate = best_;
        candidate.setting.sizes[name] = smaller;
        any |= accept(candidate);
      }
    }
    any |= reduce_lists();
    for (std::size_t axis = 0; axis < best_.setting.mesh.sizes.size(); ++axis) {
      for (int smaller = 1; smaller < best_.setting.mesh.sizes[axis]; ++smaller) {
        Case candidate = best_;
        candidate.setting.mesh.sizes[axis] = smaller;
        if (accept(candidate)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  Case best_;
  const Runner& runner_;
  std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
};

}  // namespace

Case shrink(const Case& failing, const Runner& runner) { return Shrinking(failing, runner).run(); }

}  // namespace coconet::property
