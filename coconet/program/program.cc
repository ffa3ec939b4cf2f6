#include "coconet/program/program.h"

#include <algorithm>
#include <cmath>

#include "coconet/graph/verify.h"
#include "coconet/program/lexer.h"
#include "coconet/program/parser.h"
#include "coconet/program/read_require.h"

namespace coconet {
namespace {

[[noreturn]] void refuse(const std::string& message, const Where& where) {
  throw UserError(ErrorKind::type, message, where);
}

void need_name(const std::string& name, const Where& where) {
  if (syntax::is_name(name)) return;
  refuse("`" + name +
             "` is not a name; a name has letters, digits and underscores, begins with no "
             "digit, and is no word of the language",
         where);
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Program::Program(std::string name, Mesh mesh, At at) : where_(at.where) {
  need_name(name, where_);
  need_name(mesh.name, where_);
  if (mesh.axes.empty()) refuse("a mesh has at least one axis", where_);
  for (const std::string& axis : mesh.axes) {
    need_name(axis, where_);
    if (std::count(mesh.axes.begin(), mesh.axes.end(), axis) > 1) {
      refuse("the axis " + axis + " stands twice", where_);
    }
  }
  verify_mesh(mesh, where_);
  header_.program = std::move(name);
  header_.mesh = std::move(mesh);
}

void Program::need_free(const std::string& name, const Where& where) const {
  need_name(name, where);
  const bool taken = names_.contains(name) || has(header_.dims, name) ||
                     header_.mesh.axis(name).has_value() ||
                     std::any_of(header_.dtypes.begin(), header_.dtypes.end(),
                                 [&](const DTypeParameter& dtype) { return dtype.name == name; });
  if (taken) {
    refuse("the name " + name +
               " is taken; a name denotes one value, so give this one a name of "
               "its own",
           where);
  }
}

Dim Program::dim(const std::string& name, At at) {
  need_free(name, at.where);
  if (assembler_) refuse("dims are declared before the first input", at.where);
  header_.dims.push_back(name);
  return Dim::named(name);
}

DType Program::dtype(const std::string& name, const DType& value, At at) {
  need_free(name, at.where);
  if (dtype_kind_of(name)) refuse("the name " + name + " is that of a dtype", at.where);
  if (assembler_) refuse("dtypes are declared before the first input", at.where);
  header_.dtypes.push_back({name, value.kind});
  return DType(value.kind, name);
}

void Program::require(const std::string& condition, At at) {
  const Where where = at.where;
  if (assembler_) refuse("requirements are declared before the first input", where);
  const auto again = [&](const UserError& error) {
    throw UserError(error.kind(), error.message(), where);
  };
  ErrorList errors;
  syntax::Tree tree;
  const std::string text = "require " + condition;
  try {
    syntax::Cursor cursor(text, "", errors);
    syntax::Parser(cursor, tree).item();
    if (!cursor.at_end()) {
      cursor.fail("found " + syntax::Cursor::shown(cursor.peek()) +
                  " behind the condition; needed is one, as \"nh % size(tp) == 0\"");
    }
    errors.throw_if_any();
    Declarations declarations;
    declarations.mesh = header_.mesh;
    declarations.dims = header_.dims;
    const syntax::ExprId id = std::get<syntax::Require>(tree.items.at(0)).value;
    header_.requirements.push_back(read_require(tree, TypeReader(declarations, ""), id));
    header_.requirements.back().where = where;
  } catch (const UserErrors& all) {
    again(all.errors().front());
  } catch (const UserError& error) {
    again(error);
  }
}

Layout Program::layout_of(const Placements& placements, const Where& where) const {
  const Mesh& mesh = header_.mesh;
  Layout out(mesh.size());
  std::vector<bool> given(mesh.size(), false);
  for (const Placed& placed : placements.list) {
    Axes axes = placed.axes;
    if (axes.empty() && mesh.size() > 1) {
      refuse(text_of(placed.placement) + " does not say on which axis of the mesh " + mesh.text() +
                 "; write it as .on(\"" + mesh.axes[0] + "\")",
             where);
    }
    if (axes.empty()) axes = {mesh.axes[0]};
    for (const std::string& name : axes) {
      const std::optional<int> axis = mesh.axis(name);
      if (!axis) refuse("`" + name + "` is not an axis of the mesh " + mesh.text(), where);
      if (given[*axis]) refuse("the axis " + name + " has two placements; it takes one", where);
      given[*axis] = true;
      out = out.with(*axis, placed.placement);
    }
  }
  return out;
}

Tensor Program::add_input(InputKind kind, const std::string& name, const DType& dtype,
                          const InputShape& shape, const Placements& placements,
                          std::optional<double> default_value, const Where& where) {
  need_free(name, where);
  if (!assembler_) assembler_ = std::make_shared<Assembler>(header_);
  Input input{kind, {dtype, shape.dims, {}}, {}};
  if (default_value) {
    const bool whole =
        std::trunc(*default_value) == *default_value && std::fabs(*default_value) < 1e18;
    const LiteralValue value = whole && !is_floating(dtype.kind)
                                   ? LiteralValue(static_cast<std::int64_t>(*default_value))
                                   : LiteralValue(*default_value);
    input.default_value = default_of(value, dtype, where);
  }
  for (const Dim& dim : shape.dims) {
    for (const std::string& used : dim.names()) {
      const bool known = has(header_.dims, used) || header_.mesh.axis(used);
      if (!known) refuse("`" + used + "` is not a dim of this program", where);
    }
  }
  try {
    input.type.layout = layout_of(placements, where);
    if (shape.list) input.type = list_of(dtype, shape.dims, input.type.layout, shape.index);
  } catch (const UserError& error) {
    throw error.at(where);
  }
  const NodeId id = assembler_->input(std::move(input), name, where);
  names_.insert(name);
  return Tensor(assembler_, id, name);
}

Tensor Program::input(const std::string& name, const DType& dtype, const InputShape& shape,
                      const Placements& placements, At at) {
  return add_input(InputKind::tensor, name, dtype, shape, placements, {}, at.where);
}

Tensor Program::state(const std::string& name, const DType& dtype, const InputShape& shape,
                      const Placements& placements, At at) {
  return add_input(InputKind::state, name, dtype, shape, placements, {}, at.where);
}

Tensor Program::scalar(const std::string& name, const DType& dtype,
                       std::optional<double> default_value, At at) {
  return add_input(InputKind::scalar, name, dtype, {}, {}, default_value, at.where);
}

Tensor Program::size(const std::string& axis, At at) const {
  const std::optional<int> index = header_.mesh.axis(axis);
  if (!index) {
    refuse("`" + axis + "` is not an axis of the mesh " + header_.mesh.text(), at.where);
  }
  return Tensor(nullptr, Literal{Literal::Size{*index}});
}

Tensor Program::size(const Dim& dim) const { return Tensor(nullptr, Literal{Literal::Size{dim}}); }

Tensor Program::let(const std::string& name, const Operand& value) {
  need_free(name, value.where());
  const Tensor& tensor = value.tensor_;
  if (tensor.assembler_ && tensor.assembler_ != assembler_) {
    refuse("the value of " + name + " belongs to another program", value.where());
  }
  if (assembler_) assembler_->name(value.value(), name);
  names_.insert(name);
  return Tensor(tensor.assembler_, value.value(), name);
}

void Program::returns(const std::vector<Tensor>& outputs, At at) {
  const Where where = at.where;
  if (returned_) refuse("a program returns once", where);
  if (outputs.empty()) refuse("a program returns one value or more", where);
  for (const Tensor& output : outputs) {
    if (output.name().empty()) {
      refuse("an output has a name; give it one, as p.let(\"out\", value)", where);
    }
    if (!output.assembler_ || output.assembler_ != assembler_) {
      refuse("the output " + output.name() + " is not a tensor of this program", where);
    }
    const NodeId id = assembler_->node_of(output.value_, "the output " + output.name(), where);
    assembler_->builder().add_output(output.name(), id);
  }
  returned_ = true;
}

// Of values and requirements.
bool Program::uses_dim(const std::string& dim) const {
  const auto uses = [&](const std::vector<std::string>& names) { return has(names, dim); };
  for (const Requirement& requirement : header_.requirements) {
    if (uses(dims_in(requirement.condition))) return true;
  }
  for (int i = 0; assembler_ && i < assembler_->builder().size(); ++i) {
    for (const Dim& of : assembler_->builder().node({i}).type.shape) {
      if (uses(of.names())) return true;
    }
  }
  return false;
}

bool Program::updates() const {
  const int nodes = assembler_ ? assembler_->builder().size() : 0;
  for (int i = 0; i < nodes; ++i) {
    if (std::holds_alternative<Update>(assembler_->builder().node({i}).op)) return true;
  }
  return false;
}

Graph Program::graph() const {
  for (const std::string& dim : header_.dims) {
    if (!uses_dim(dim)) {
      refuse("the dim " + dim +
                 " is in no value's shape, so nothing says how long it is; use it "
                 "or leave it out",
             where_);
    }
  }
  if (!returned_ && !updates()) {
    refuse("the program " + header_.program +
               " gives nothing; it needs `returns` of a value, or an update",
           where_);
  }
  Assembler copy = assembler_ ? *assembler_ : Assembler(header_);
  try {
    return std::move(copy.builder()).finish();
  } catch (const UserError& error) {
    throw error.at(where_);
  }
}

}  // namespace coconet
