#include "coconet/program/read_program.h"

#include <algorithm>
#include <set>

#include "coconet/base/nearest.h"
#include "coconet/program/read_expression.h"
#include "coconet/program/read_require.h"

namespace coconet {
namespace {

using syntax::Parameter;
using syntax::Place;
using syntax::Statement;
using syntax::StatementKind;
using syntax::Word;

class ProgramReader {
 public:
  ProgramReader(const syntax::Tree& tree, const TypeReader& types, const syntax::Program& program,
                ErrorList& errors)
      : types_(types),
        program_(program),
        errors_(errors),
        tree_(tree),
        assembler_(header()),
        expressions_(tree, types_, scope_, assembler_) {}

  std::optional<Graph> read() {
    const std::size_t before = errors_.size();
    for (const Parameter& parameter : program_.parameters) read_parameter(parameter);
    for (const Statement& statement : program_.statements) {
      if (errors_.full()) break;
      read_statement(statement);
    }
    if (errors_.size() > before || errors_.full() || failed_) return std::nullopt;
    try {
      need_result();
      return std::move(assembler_.builder()).finish();
    } catch (const UserError& error) {
      errors_.add(error.at(types_.where(program_.name.place)));
      return std::nullopt;
    }
  }

 private:
  Header header() const {
    const Declarations& declarations = types_.declarations();
    Header out{program_.name.text, types_.mesh(), {}, declarations.dtypes};
    std::set<std::string> names;
    for (const Parameter& parameter : program_.parameters) {
      for (const syntax::DimExpr& dim : parameter.type.dims) {
        for (const Word& name : dim.names) names.insert(name.text);
      }
    }
    collect(program_.statements, &names);
    for (const std::string& dim : declarations.dims) {
      if (names.count(dim) > 0) out.dims.push_back(dim);
    }
    // A requirement is the program's if all its dims are.
    for (const Requirement& requirement : declarations.requirements) {
      const std::vector<std::string> dims = dims_in(requirement.condition);
      if (std::all_of(dims.begin(), dims.end(),
                      [&](const std::string& dim) { return names.count(dim) > 0; })) {
        out.requirements.push_back(requirement);
      }
    }
    return out;
  }

  void collect(const std::vector<Statement>& statements, std::set<std::string>* names) const {
    for (const Statement& statement : statements) {
      if (statement.value >= 0) {
        collect_names(tree_, types_.declarations(), statement.value, names);
      }
      collect(statement.body, names);
    }
  }

  // Runs `action`; an error goes to the list, and false comes back.
  template <class Action>
  bool guarded(const Place& place, Action action) {
    try {
      action();
      return true;
    } catch (const UserError& error) {
      errors_.add(error.at(types_.where(place)));
    } catch (const Poisoned&) {
    }
    failed_ = true;
    return false;
  }

  void need_free(const Word& name) const {
    if (scope_.has(name.text)) {
      throw UserError(ErrorKind::type,
                      "the name " + name.text + " is taken by line " +
                          std::to_string(scope_.line_of(name.text)) +
                          "; a name denotes one value, so give this one a name of its own",
                      types_.where(name.place));
    }
    const Declarations& declarations = types_.declarations();
    const std::optional<DType> dtype = declarations.dtype(name.text);
    const bool parameter = dtype && !dtype->parameter.empty();
    if (parameter || declarations.has_dim(name.text) || types_.mesh().axis(name.text)) {
      throw UserError(ErrorKind::type,
                      "the name " + name.text + " is taken by a dim, an axis or a dtype parameter",
                      types_.where(name.place));
    }
  }

  void read_parameter(const Parameter& parameter) {
    const Word& name = parameter.name;
    const bool good = guarded(name.place, [&] {
      need_free(name);
      Input input{parameter.kind, {}, std::nullopt};
      if (parameter.kind == InputKind::scalar) {
        input.type = {types_.dtype(parameter.type.dtype), {}, Layout(types_.mesh().size())};
        if (parameter.value) input.default_value = default_in(parameter, input.type.dtype);
      } else {
        input.type = types_.type(parameter.type);
      }
      scope_.bind(name.text,
                  assembler_.input(std::move(input), name.text, types_.where(name.place)),
                  name.place.line);
    });
    if (!good) scope_.poison(name.text, name.place.line);
  }

  double default_in(const Parameter& parameter, const DType& dtype) {
    const Value value = expressions_.read(*parameter.value);
    return default_of(std::get<LiteralValue>(std::get<Literal>(value).content), dtype,
                      types_.where(tree_.at(*parameter.value).place));
  }

  void read_statement(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::value: return read_value(statement);
      case StatementKind::fused:
      case StatementKind::overlapped: read_group(statement, nullptr); return;
      case StatementKind::result: return read_result(statement);
      case StatementKind::broken: return pass_over(statement);
    }
  }

  // A statement with a syntax error: its names are known to have failed.
  void pass_over(const Statement& statement) {
    failed_ = true;
    for (const Word& name : statement.names) scope_.poison(name.text, name.place.line);
    if (statement.names.empty()) scope_.set_incomplete();
  }

  void read_value(const Statement& statement) {
    const bool good = guarded(statement.place, [&] {
      const Word& name = statement.names[0];
      need_not_returned(statement);
      if (statement.names.size() > 1) {
        throw UserError(ErrorKind::type,
                        "an expression gives one value; found " +
                            std::to_string(statement.names.size()) + " names",
                        types_.where(name.place));
      }
      need_free(name);
      const Value value = expressions_.read(statement.value);
      if (statement.type) need_type(value, *statement.type);
      assembler_.name(value, name.text);
      scope_.bind(name.text, value, name.place.line);
    });
    if (good) return;
    for (const Word& name : statement.names) scope_.poison(name.text, name.place.line);
  }

  void need_result() const {
    const GraphBuilder& builder = assembler_.builder();
    bool gives = returned_;
    for (int i = 0; i < builder.size() && !gives; ++i) {
      gives = std::holds_alternative<Update>(builder.node({i}).op);
    }
    if (gives) return;
    throw UserError(ErrorKind::type,
                    "the program " + program_.name.text +
                        " gives nothing; it needs `return` of a value, or an update",
                    types_.where(program_.name.place));
  }

  void need_not_returned(const Statement& statement) const {
    if (!returned_) return;
    throw UserError(ErrorKind::type, "nothing stands after `return`",
                    types_.where(statement.place));
  }

  void need_type(const Value& value, const syntax::TypeExpr& type) const {
    const TensorType wanted = types_.type(type);
    const Where where = types_.where(type.place);
    const NodeId id = assembler_.node_of(value, "the value of this name", where);
    const TensorType& found = assembler_.builder().type(id);
    if (found == wanted) return;
    throw UserError(ErrorKind::type,
                    "the expression is " + found.text(types_.mesh()) + ", but " +
                        wanted.text(types_.mesh()) + " is written here",
                    where);
  }

  // *made, if given: the group, where it was made.
  void read_group(const Statement& statement, GroupId* made) {
    const bool fused = statement.kind == StatementKind::fused;
    Group group{fused ? GroupKind::fused : GroupKind::overlapped,
                statement.group.text,
                {},
                {},
                types_.where(statement.group.place)};
    guarded(statement.place, [&] { need_not_returned(statement); });
    for (const Statement& member : statement.body) {
      const int before = assembler_.builder().size();
      const bool inner =
          member.kind == StatementKind::fused || member.kind == StatementKind::overlapped;
      if (member.kind == StatementKind::result || (inner && fused)) {
        guarded(member.place, [&] {
          throw UserError(ErrorKind::type,
                          fused ? "a fused group holds statements `name = expression` alone"
                                : "`return` stands at the end of the program",
                          types_.where(member.place));
        });
        for (const Word& name : member.names) scope_.poison(name.text, name.place.line);
      } else if (inner) {
        GroupId id;
        read_group(member, &id);
        if (id.valid()) group.groups.push_back(id);
      } else {
        read_statement(member);
        for (int i = before; i < assembler_.builder().size(); ++i) group.nodes.push_back({i});
      }
    }
    guarded(statement.place, [&] { finish_group(statement, std::move(group), made); });
  }

  void finish_group(const Statement& statement, Group group, GroupId* made) {
    for (const Word& name : statement.names) {
      if (scope_.has(name.text) || scope_.incomplete()) continue;
      throw UserError(ErrorKind::type,
                      "`" + name.text + "` is not given in the group " + group.name,
                      types_.where(name.place));
    }
    if (failed_) throw Poisoned{};
    if (group.nodes.empty() && group.groups.empty()) {
      throw UserError(ErrorKind::type, "the group " + group.name + " holds nothing", group.where);
    }
    need_free(statement.group);
    const GroupId id = assembler_.builder().add_group(std::move(group));
    if (made) *made = id;
  }

  void read_result(const Statement& statement) {
    guarded(statement.place, [&] {
      need_not_returned(statement);
      returned_ = true;
    });
    std::set<std::string> outputs;
    for (const Word& name : statement.names) {
      guarded(name.place, [&] {
        const Value* value = scope_.find(name.text);
        if (!value && scope_.incomplete()) throw Poisoned{};
        if (!value) {
          throw UserError(ErrorKind::type,
                          "`" + name.text + "` is not a value of the program" +
                              suggestion(name.text, scope_.names()),
                          types_.where(name.place));
        }
        if (!outputs.insert(name.text).second) {
          throw UserError(ErrorKind::type, "the output " + name.text + " stands twice",
                          types_.where(name.place));
        }
        const NodeId id =
            assembler_.node_of(*value, "the output " + name.text, types_.where(name.place));
        assembler_.builder().add_output(name.text, id);
      });
    }
  }

  const TypeReader& types_;
  const syntax::Program& program_;
  ErrorList& errors_;
  const syntax::Tree& tree_;
  Scope scope_;
  Assembler assembler_;
  ExpressionReader expressions_;
  bool returned_ = false;
  bool failed_ = false;  // also where no error was added for it
};

}  // namespace

std::optional<Graph> read_program(const syntax::Tree& tree, const TypeReader& types,
                                  const syntax::Program& program, ErrorList& errors) {
  return ProgramReader(tree, types, program, errors).read();
}

}  // namespace coconet
