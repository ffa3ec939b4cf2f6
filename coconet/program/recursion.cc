#include "coconet/program/recursion.h"

#include <algorithm>
#include <set>

namespace coconet {
namespace {

using syntax::Def;
using syntax::Expr;

void add_called(const syntax::Tree& tree, syntax::ExprId id, std::set<std::string>& out) {
  const Expr& expr = tree.at(id);
  if (expr.kind == syntax::ExprKind::call) out.insert(expr.text);
  for (syntax::ExprId child : expr.children) add_called(tree, child, out);
}

// Calls from `function` that are not followed yet.
struct Open {
  const Def* function;
  std::set<std::string> called;
};

}  // namespace

// A walk in depth with a stack of its own, as chains of functions may be long.
std::map<std::string, std::vector<std::string>> recursive_functions(const syntax::Tree& tree) {
  std::map<std::string, const Def*> functions;
  for (const syntax::Item& item : tree.items) {
    if (const Def* def = std::get_if<Def>(&item)) functions.try_emplace(def->name.text, def);
  }
  std::map<std::string, std::vector<std::string>> out;
  std::set<std::string> seen, closed;
  for (const auto& [name, def] : functions) {
    std::vector<Open> open;
    const auto enter = [&](const Def* function) {
      if (!seen.insert(function->name.text).second) return;
      open.push_back({function, {}});
      add_called(tree, function->value, open.back().called);
    };
    for (enter(def); !open.empty();) {
      std::set<std::string>& called = open.back().called;
      if (called.empty()) {
        closed.insert(open.back().function->name.text);
        open.pop_back();
        continue;
      }
      const std::string callee = called.extract(called.begin()).value();
      const auto next = functions.find(callee);
      if (next == functions.end()) continue;
      if (!seen.contains(callee) || closed.contains(callee)) {
        enter(next->second);
        continue;
      }
      std::vector<std::string>& by = out[callee];
      by.clear();
      auto at = std::ranges::find(open, next->second, &Open::function);
      for (++at; at != open.end(); ++at) by.push_back(at->function->name.text);
    }
  }
  return out;
}

}  // namespace coconet
