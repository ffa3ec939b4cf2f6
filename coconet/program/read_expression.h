// Expressions of the text form to values.
#pragma once

#include <map>
#include <string>

#include "coconet/program/scope.h"

namespace coconet {

class ExpressionReader {
 public:
  // Requires: all outlive the reader.
  ExpressionReader(const syntax::Tree& tree, const TypeReader& types, const Scope& scope,
                   Assembler& assembler)
      : tree_(tree), types_(types), scope_(scope), assembler_(assembler) {}

  // UserError at the place in the text, or Poisoned.
  Value read(syntax::ExprId id);

 private:
  // The call of a user's function that is being expanded.
  struct Expansion {
    const syntax::Def* function = nullptr;
    syntax::Place place;  // of the outermost call
    std::map<std::string, Value> arguments;
    int depth = 1;
  };

  Value read_literal(const syntax::Expr& expr) const;
  Value read_name(const syntax::Expr& expr) const;
  Value read_call(const syntax::Expr& expr);
  Value expand(const syntax::Def& function, const syntax::Expr& call);
  std::vector<Assembler::Argument> arguments(const Signature& function, const syntax::Expr& call);
  std::size_t repetitions(const Signature& function, const syntax::Expr& call) const;
  bool is_size(const syntax::Expr& expr) const;
  Assembler::Argument argument(const Signature& function, const FunctionParameter& parameter,
                               syntax::ExprId id);
  Assembler::Argument attribute(Role role, const syntax::Expr& expr,
                                const std::string& needed) const;
  Assembler::Argument extent(const syntax::Expr& expr) const;
  Dim dim_of(const syntax::Expr& expr) const;
  std::vector<int> dims_of(const syntax::Expr& expr, bool sorted) const;

  Where where(const syntax::Place& place) const;
  [[noreturn]] void refuse(const syntax::Place& place, const std::string& message) const;

  const syntax::Tree& tree_;
  const TypeReader& types_;
  const Scope& scope_;
  Assembler& assembler_;
  const Expansion* expansion_ = nullptr;
  int expansions_ = 0;  // calls of user functions so far
};

}  // namespace coconet
