#include "coconet/program/read.h"

#include <algorithm>

#include "coconet/base/nearest.h"
#include "coconet/graph/verify.h"
#include "coconet/program/read_program.h"
#include "coconet/program/read_require.h"
#include "coconet/program/recursion.h"

namespace coconet {
namespace {

using syntax::Place;
using syntax::Word;

// Reads the items of a file in order.
class FileReader {
 public:
  FileReader(const syntax::Tree& tree, const std::string& file, const ReadOptions& options,
             ErrorList& errors)
      : tree_(tree),
        file_(file),
        options_(options),
        errors_(errors),
        recursive_(recursive_functions(tree)) {}

  Programs read() {
    for (const syntax::Item& item : tree_.items) {
      if (errors_.full()) break;
      try {
        std::visit([this](const auto& i) { read(i); }, item);
      } catch (const UserError& error) {
        const bool program = std::holds_alternative<syntax::Program>(item);
        declarations_.incomplete = declarations_.incomplete || !program;
        errors_.add(error);
      }
    }
    return std::move(out_);
  }

 private:
  Where where(const Place& place) const { return {file_, place.line, place.column, place.length}; }
  [[noreturn]] void refuse(const Place& place, const std::string& message) const {
    throw UserError(ErrorKind::type, message, where(place));
  }

  void need_free(const Word& name) const {
    const std::vector<std::string> dtypes = declarations_.known_dtypes();
    const bool taken = declarations_.has_dim(name.text) ||
                       std::find(dtypes.begin(), dtypes.end(), name.text) != dtypes.end() ||
                       (declarations_.mesh && declarations_.mesh->axis(name.text));
    if (taken) refuse(name.place, "the name " + name.text + " is declared already");
  }

  void read(const syntax::Mesh& item) {
    if (declarations_.mesh) refuse(item.name.place, "a file has one mesh");
    Mesh mesh{item.name.text, {}};
    for (const Word& axis : item.axes) {
      need_free(axis);
      if (mesh.axis(axis.text)) refuse(axis.place, "the axis " + axis.text + " stands twice");
      mesh.axes.push_back(axis.text);
    }
    verify_mesh(mesh, where(item.name.place));
    declarations_.mesh = std::move(mesh);
  }

  void read(const syntax::Dims& item) {
    for (const Word& name : item.names) {
      need_free(name);
      declarations_.dims.push_back(name.text);
    }
  }

  void read(const syntax::DTypeItem& item) {
    need_free(item.name);
    const std::optional<DTypeKind> kind = dtype_kind_of(item.value.text);
    if (!kind) {
      refuse(item.value.place, "`" + item.value.text + "` is not a dtype" +
                                   dtype_suggestion(item.value.text, dtype_names()) + " (" +
                                   listed(dtype_names()) + ")");
    }
    const auto bound = options_.dtypes.find(item.name.text);
    declarations_.dtypes.push_back(
        {item.name.text, bound == options_.dtypes.end() ? *kind : bound->second});
    out_.dtypes.push_back(item.name.text);
  }

  void read(const syntax::Require& item) {
    if (!declarations_.mesh) {
      if (declarations_.incomplete) return;
      refuse(tree_.at(item.value).place, "a mesh is declared before `require`");
    }
    try {
      const TypeReader types(declarations_, file_);
      declarations_.requirements.push_back(read_require(tree_, types, item.value));
    } catch (const Poisoned&) {
      return;
    }
    need_no_program_of(declarations_.requirements.back(), tree_.at(item.value).place);
  }

  // One that stands before the requirement would be without it.
  void need_no_program_of(const Requirement& requirement, const Place& place) const {
    const std::vector<std::string> needed = dims_in(requirement.condition);
    for (const Graph& graph : out_.graphs) {
      const std::vector<std::string>& dims = graph.header().dims;
      const auto has = [&](const std::string& dim) { return std::ranges::count(dims, dim) > 0; };
      if (!std::ranges::all_of(needed, has)) continue;
      const std::string& name = graph.header().program;
      refuse(place, "the program " + name +
                        " has the dims of this `require` and stands before it; "
                        "move `require` before " +
                        name);
    }
  }

  void read(const syntax::Def& item) {
    const std::string& name = item.name.text;
    const bool builtin = find_signature(name, false) || !unsupported_function(name).empty();
    if (builtin) refuse(item.name.place, "`" + name + "` is a function of the language");
    for (std::size_t i = 0; i < item.parameters.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (item.parameters[i].text == item.parameters[j].text) {
          refuse(item.parameters[i].place,
                 "the parameter " + item.parameters[i].text + " stands twice");
        }
      }
    }
    if (!declarations_.functions.insert({name, &item}).second) {
      refuse(item.name.place, "the function " + name + " is defined already");
    }
    const auto recursive = recursive_.find(name);
    if (recursive == recursive_.end()) return;
    declarations_.functions.erase(name);
    const std::vector<std::string>& by = recursive->second;
    refuse(item.name.place, "the function " + name + " calls itself" +
                                (by.empty() ? "" : " by way of " + listed(by)) +
                                "; a call stands for the function's expression, so that would "
                                "have no end");
  }

  void read(const syntax::Program& item) {
    if (std::find(out_.names.begin(), out_.names.end(), item.name.text) != out_.names.end()) {
      refuse(item.name.place, "the program " + item.name.text + " stands twice in this file");
    }
    out_.names.push_back(item.name.text);
    if (!options_.only.empty() && item.name.text != options_.only) return;
    if (!declarations_.mesh) {
      if (declarations_.incomplete) return;
      refuse(item.name.place,
             "a mesh is declared before the programs, as `mesh world(tp)`; it names the axes that "
             "tensors are distributed over");
    }
    const TypeReader types(declarations_, file_);
    std::optional<Graph> graph = read_program(tree_, types, item, errors_);
    if (graph) out_.graphs.push_back(std::move(*graph));
  }

  void read(const syntax::BrokenItem& item) {
    declarations_.incomplete = declarations_.incomplete || !item.is_program;
    out_.names.push_back(item.name);
  }

  const syntax::Tree& tree_;
  const std::string& file_;
  const ReadOptions& options_;
  ErrorList& errors_;
  Declarations declarations_;
  const std::map<std::string, std::vector<std::string>> recursive_;
  Programs out_;
};

}  // namespace

Programs read_programs(const syntax::Tree& tree, const std::string& file,
                       const ReadOptions& options, ErrorList& errors) {
  return FileReader(tree, file, options, errors).read();
}

}  // namespace coconet
