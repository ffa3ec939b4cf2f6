#include "coconet/graph/requirement.h"

#include <algorithm>
#include <set>

#include "coconet/type/list.h"

namespace coconet {
namespace {

// How tightly an operation binds, as in expressions of values; a leaf most of all.
int level_of(const SizeExpr& expr) {
  if (expr.kind != SizeExpr::Kind::operation) return 7;
  if (expr.symbol == "or") return 1;
  if (expr.symbol == "and") return 2;
  if (expr.symbol == "not") return 3;
  if (expr.is_condition()) return 4;
  return expr.symbol == "+" || expr.symbol == "-" ? 5 : 6;
}

std::string operand_text(const SizeExpr& expr, int least, const Mesh& mesh) {
  const std::string text = text_of(expr, mesh);
  // A product of dims binds as any product.
  const bool product = expr.kind == SizeExpr::Kind::dim && text.find('*') != std::string::npos;
  return (product ? 6 : level_of(expr)) < least ? "(" + text + ")" : text;
}

bool is_truth_operation(const SizeExpr& expr) {
  return expr.symbol == "and" || expr.symbol == "or" || expr.symbol == "not";
}

class Evaluation {
 public:
  Evaluation(const Requirement& requirement, const Mesh& mesh, const Sizes& sizes,
             const MeshSizes& ranks)
      : requirement_(requirement), mesh_(mesh), sizes_(sizes), ranks_(ranks) {}

  // It names no dim and no axis.
  bool is_constant() const {
    for (int axis = 0; axis < mesh_.size(); ++axis) {
      if (has_axis(requirement_.condition, axis)) return false;
    }
    return dims_in(requirement_.condition).empty();
  }
  bool holds() const { return value(requirement_.condition) != 0; }

  [[noreturn]] void fail(const std::string& why) const {
    std::string values;
    const auto add = [&](const std::string& name, std::int64_t size) {
      values += (values.empty() ? "" : ", ") + name + " = " + std::to_string(size);
    };
    for (const std::string& name : dims_in(requirement_.condition)) add(name, sizes_.at(name));
    for (int axis = 0; axis < mesh_.size(); ++axis) {
      if (has_axis(requirement_.condition, axis)) {
        add("size(" + mesh_.axes[axis] + ")", ranks_.sizes[axis]);
      }
    }
    throw UserError(ErrorKind::data,
                    "the program requires " + text_of(requirement_.condition, mesh_) + ", " + why +
                        (values.empty() ? "" : ": " + values) + "; give sizes that meet it",
                    requirement_.where);
  }

 private:
  static bool has_axis(const SizeExpr& expr, int axis) {
    if (expr.kind == SizeExpr::Kind::axis) return expr.axis == axis;
    return std::any_of(expr.operands.begin(), expr.operands.end(),
                       [&](const SizeExpr& operand) { return has_axis(operand, axis); });
  }

  std::int64_t value(const SizeExpr& expr) const {
    if (expr.kind == SizeExpr::Kind::dim) {
      std::int64_t out = expr.dim.coefficient();
      for (const std::string& name : expr.dim.names()) {
        out = number('*', out, Dim::named(name).bind(sizes_));
      }
      return out;
    }
    if (expr.kind == SizeExpr::Kind::axis) return ranks_.sizes[expr.axis];
    const std::int64_t a = value(expr.operands[0]);
    if (expr.symbol == "not") return a == 0;
    if (expr.operands.size() == 1) return number('-', 0, a);
    // The right side counts only where the left does not decide.
    if (expr.symbol == "and" && a == 0) return 0;
    if (expr.symbol == "or" && a != 0) return 1;
    const std::int64_t b = value(expr.operands[1]);
    if (is_truth_operation(expr)) return b;
    if (expr.symbol == "<") return a < b;
    if (expr.symbol == "<=") return a <= b;
    if (expr.symbol == ">") return a > b;
    if (expr.symbol == ">=") return a >= b;
    if (expr.symbol == "==") return a == b;
    if (expr.symbol == "!=") return a != b;
    return number(expr.symbol[0], a, b);
  }

  std::int64_t number(char symbol, std::int64_t a, std::int64_t b) const {
    std::int64_t out = 0;
    bool overflow = false;
    if (symbol == '+') overflow = __builtin_add_overflow(a, b, &out);
    if (symbol == '-') overflow = __builtin_sub_overflow(a, b, &out);
    if (symbol == '*') overflow = __builtin_mul_overflow(a, b, &out);
    if ((symbol == '/' || symbol == '%') && b == 0) fail("which divides by zero");
    if (symbol == '/' && b == -1) {
      overflow = __builtin_sub_overflow(0, a, &out);
    } else if (symbol == '/') {
      out = a / b;
    }
    if (symbol == '%') out = b == -1 ? 0 : a % b;
    if (overflow) fail("whose numbers exceed 63 bits");
    return out;
  }

  const Requirement& requirement_;
  const Mesh& mesh_;
  const Sizes& sizes_;
  const MeshSizes& ranks_;
};

// A product of sizes of axes: which; nullopt for anything else.
std::optional<AxisList> axes_of_product(const SizeExpr& expr) {
  if (expr.kind == SizeExpr::Kind::axis) return AxisList{expr.axis};
  if (expr.kind != SizeExpr::Kind::operation || expr.symbol != "*") return std::nullopt;
  std::optional<AxisList> out = axes_of_product(expr.operands[0]);
  const std::optional<AxisList> right = axes_of_product(expr.operands[1]);
  if (!out || !right) return std::nullopt;
  out->insert(out->end(), right->begin(), right->end());
  return out;
}

bool is_zero(const SizeExpr& expr) {
  return expr.kind == SizeExpr::Kind::dim && expr.dim == Dim(0);
}

// `dim` is a product that `factor` is a part of.
bool is_multiple(const Dim& dim, const Dim& factor) {
  if (dim.is_blocks() || factor.coefficient() == 0) return false;
  return dim.coefficient() % factor.coefficient() == 0 &&
         std::includes(dim.names().begin(), dim.names().end(), factor.names().begin(),
                       factor.names().end());
}

// Calls visit(condition) for each condition that must hold: `and` joins several.
template <class Visit>
void for_each_condition(const SizeExpr& expr, const Visit& visit) {
  if (expr.symbol == "and") {
    for (const SizeExpr& operand : expr.operands) for_each_condition(operand, visit);
  } else {
    visit(expr);
  }
}

}  // namespace

bool SizeExpr::is_condition() const {
  if (kind != Kind::operation) return false;
  return is_truth_operation(*this) || symbol[0] == '<' || symbol[0] == '>' || symbol[0] == '=' ||
         symbol[0] == '!';
}

std::string text_of(const SizeExpr& expr, const Mesh& mesh) {
  if (expr.kind == SizeExpr::Kind::dim) return expr.dim.text();
  if (expr.kind == SizeExpr::Kind::axis) return "size(" + mesh.axes[expr.axis] + ")";
  const int level = level_of(expr);
  if (expr.operands.size() == 1) {
    return (expr.symbol == "not" ? "not " : "-") +
           operand_text(expr.operands[0], expr.symbol == "not" ? 3 : 7, mesh);
  }
  // Comparisons do not chain; the others group from the left.
  return operand_text(expr.operands[0], level == 4 ? 5 : level, mesh) + " " + expr.symbol + " " +
         operand_text(expr.operands[1], level + 1, mesh);
}

std::vector<std::string> dims_in(const SizeExpr& expr) {
  std::vector<std::string> out = expr.dim.names();
  for (const SizeExpr& operand : expr.operands) {
    const std::vector<std::string> more = dims_in(operand);
    out.insert(out.end(), more.begin(), more.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool is_divided(Requirements requirements, const Dim& dim, const AxisList& axes) {
  bool found = axes.empty();
  for (const Requirement& requirement : requirements) {
    for_each_condition(requirement.condition, [&](const SizeExpr& expr) {
      if (expr.symbol != "==" || !is_zero(expr.operands[1])) return;
      const SizeExpr& left = expr.operands[0];
      if (left.symbol != "%" || left.operands[0].kind != SizeExpr::Kind::dim) return;
      const std::optional<AxisList> by = axes_of_product(left.operands[1]);
      const Dim divided = spelled_out(requirements, left.operands[0].dim);
      if (!by || !is_multiple(spelled_out(requirements, dim), divided)) return;
      found = found || std::all_of(axes.begin(), axes.end(), [&](int axis) {
                return std::find(by->begin(), by->end(), axis) != by->end();
              });
    });
  }
  return found;
}

Dim spelled_out(Requirements requirements, const Dim& dim) {
  if (dim.is_blocks()) return dim;
  Dim out(dim.coefficient());
  for (const std::string& name : dim.names()) {
    Dim factor = Dim::named(name);
    for (const Requirement& requirement : requirements) {
      for_each_condition(requirement.condition, [&](const SizeExpr& expr) {
        if (expr.symbol != "==" || expr.operands[0].dim != Dim::named(name)) return;
        const SizeExpr& right = expr.operands[1];
        const bool product =
            right.kind == SizeExpr::Kind::dim &&
            std::count(right.dim.names().begin(), right.dim.names().end(), name) == 0;
        if (expr.operands[0].kind == SizeExpr::Kind::dim && product) factor = right.dim;
      });
    }
    out = out * factor;
  }
  return out;
}

namespace {

// The sizes as each member has them, of every list whose dims the condition has; `sizes` alone if
// there is none.
std::vector<Sizes> sizes_of_members(const SizeExpr& condition, const Sizes& sizes) {
  std::set<std::string> indices;
  for (const std::string& name : dims_in(condition)) {
    if (sizes.lists.contains(name)) indices.insert(list_index(name));
  }
  std::vector<Sizes> out = {sizes};
  for (const std::string& index : indices) {
    std::vector<Sizes> next;
    for (const Sizes& before : out) {
      for (std::int64_t k = 0; k < sizes.members(index); ++k) {
        next.push_back(before);
        for (const auto& [name, list] : sizes.lists) {
          if (list_index(name) == index) next.back()[name] = list[k];
        }
      }
    }
    out = std::move(next);
  }
  return out;
}

}  // namespace

void verify_requirements(Requirements requirements, const Mesh& mesh) {
  const Sizes sizes;
  const MeshSizes ranks;
  for (const Requirement& requirement : requirements) {
    const Evaluation evaluation(requirement, mesh, sizes, ranks);
    if (!evaluation.is_constant() || evaluation.holds()) continue;
    throw UserError(ErrorKind::type,
                    "the program requires " + text_of(requirement.condition, mesh) +
                        ", which holds for no sizes; needed: a condition on dims or size(axis)",
                    requirement.where);
  }
}

void check_requirements(Requirements requirements, const Mesh& mesh, const Sizes& sizes,
                        const MeshSizes& ranks) {
  for (const Requirement& requirement : requirements) {
    for (const Sizes& own : sizes_of_members(requirement.condition, sizes)) {
      for (const std::string& name : dims_in(requirement.condition)) Dim::named(name).bind(own);
      const Evaluation evaluation(requirement, mesh, own, ranks);
      if (!evaluation.holds()) evaluation.fail("which does not hold here");
    }
  }
}

}  // namespace coconet
