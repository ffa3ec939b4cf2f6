// Typed graphs and the text form.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "coconet/gradient/gradient.h"
#include "coconet/graph/print.h"
#include "coconet/schedule/file.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/parts.h"
#include "python/bindings/pieces.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coconet::python {
namespace {

ReadOptions options_of(const nb::dict& dtypes) {
  ReadOptions out;
  for (const auto& [name, dtype] : dtypes) {
    out.dtypes[nb::cast<std::string>(name)] = dtype_of(dtype, Where{}).kind;
  }
  return out;
}

File parse(const std::string& text, const std::string& file, const nb::dict& dtypes) {
  try {
    return parse_file(text, file, options_of(dtypes));
  } catch (const UserErrors& errors) {
    throw ErrorsIn(errors, text);
  }
}

File read(const std::string& path, const nb::dict& dtypes) {
  std::string text;
  try {
    File file = read_file(path, &text);
    return dtypes.size() == 0 ? file : parse_file(text, path, options_of(dtypes));
  } catch (const UserErrors& errors) {
    throw ErrorsIn(errors, text);
  }
}

Graph with_dtypes(const Graph& graph, const nb::dict& dtypes) {
  for (const auto& [name, dtype] : dtypes) {
    const std::string text = nb::cast<std::string>(name);
    std::string all;
    bool known = false;
    for (const DTypeParameter& parameter : graph.header().dtypes) {
      known = known || parameter.name == text;
      all += (all.empty() ? "" : ", ") + parameter.name;
    }
    if (!known) {
      throw UserError(ErrorKind::usage,
                      "found a dtype for " + text + "; the program " + graph.header().program +
                          " has the dtype parameters: " + (all.empty() ? "none" : all));
    }
  }
  return parse(print(graph), "", dtypes).programs.at(0);
}

nb::list inputs_of(const Graph& graph) {
  nb::list out;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (!input) continue;
    const char* kinds[] = {"tensor", "state", "scalar"};
    out.append(nb::make_tuple(node.name, kinds[static_cast<int>(input->kind)],
                              node.type.text(graph.mesh())));
  }
  return out;
}

nb::list outputs_of(const Graph& graph) {
  nb::list out;
  for (const Output& output : graph.outputs()) {
    out.append(nb::make_tuple(output.name, graph.node(output.node).type.text(graph.mesh())));
  }
  return out;
}

// Of every input and output.
std::map<std::string, std::string> dtypes_by_name(const Graph& graph) {
  std::map<std::string, std::string> out;
  const auto add = [&](const std::string& name, const Node& node) {
    out[name] = std::string(name_of(node.type.dtype.kind));
  };
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<Input>(node.op)) add(node.name, node);
  }
  for (const Output& output : graph.outputs()) add(output.name, graph.node(output.node));
  return out;
}

// By the name of an output that is no value of its own: the input, or the output before it, that it
// is.
std::map<std::string, std::string> aliases_of(const Graph& graph) {
  std::map<std::string, std::string> out;
  std::map<int, std::string> first;  // by node
  for (const Output& output : graph.outputs()) {
    const Node& node = graph.node(output.node);
    const bool input = std::holds_alternative<Input>(node.op);
    const auto [at, fresh] = first.try_emplace(output.node.index, input ? node.name : output.name);
    if (input || !fresh) out[output.name] = at->second;
  }
  return out;
}

// Of the scalars that have one.
std::map<std::string, double> defaults_of(const Graph& graph) {
  std::map<std::string, double> out;
  for (const Node& node : graph.nodes()) {
    const Input* input = std::get_if<Input>(&node.op);
    if (input && input->default_value) out[node.name] = *input->default_value;
  }
  return out;
}

// By the name of an output that is the new value of a state or input: its name.
nb::dict updates_of(const Graph& graph) {
  nb::dict out;
  for (const Output& output : graph.outputs()) {
    const Node& node = graph.node(output.node);
    if (std::holds_alternative<Update>(node.op)) {
      out[output.name.c_str()] = graph.node(node.inputs[0]).name;
    }
  }
  return out;
}

// Of a rank's piece of an input or output.
std::vector<std::int64_t> piece_shape(const Graph& graph, const std::string& name,
                                      const nb::dict& sizes, nb::handle ranks, int rank) {
  const interp::Setting setting{sizes_of(sizes), mesh_of(graph.mesh(), ranks)};
  NodeId id = graph.find(name);
  for (const Output& output : graph.outputs()) {
    if (output.name == name) id = output.node;
  }
  if (!id.valid()) throw UserError(ErrorKind::usage, "there is no input or output " + name);
  return shape_of_piece(graph.node(id).type, setting, rank);
}

// The sizes of the dims that no rank's slice cuts, from the shapes of one rank's pieces.
std::map<std::string, std::int64_t> sizes_of_pieces(
    const Graph& graph, const std::map<std::string, std::vector<std::int64_t>>& shapes) {
  std::map<std::string, std::int64_t> out;
  std::map<std::string, std::string> from;
  for (const auto& [name, shape] : shapes) {
    const NodeId id = graph.find(name);
    if (!id.valid()) continue;
    const TensorType& type = graph.node(id).type;
    const AxisList sliced = type.layout.axes_that_are<Sliced>();
    const bool as_one = std::ranges::any_of(sliced, [&](int axis) {
      const Slice& slice = type.layout.slice(axis);
      return slice.flat || slice.first != slice.last;
    });
    if (type.is_list() || as_one) continue;  // no dim of the piece is one of these
    if (type.shape.size() != shape.size()) {
      throw UserError(ErrorKind::data, name + ": found the shape " + text_of_shape(shape) +
                                           "; needed is a piece of " + type.text(graph.mesh()));
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Dim& dim = type.shape[d];
      const bool cut = std::ranges::any_of(
          sliced, [&](int axis) { return type.layout.slice(axis).has(static_cast<int>(d)); });
      if (cut || dim.names().size() != 1 || dim != Dim::named(dim.names()[0])) continue;
      const auto [at, fresh] = out.try_emplace(dim.names()[0], shape[d]);
      const auto [where, first] = from.try_emplace(dim.names()[0], name);
      if (fresh || at->second == shape[d]) continue;
      throw UserError(ErrorKind::data, "found " + at->first + "=" + std::to_string(at->second) +
                                           " in " + where->second + " and " + at->first + "=" +
                                           std::to_string(shape[d]) + " in " + name +
                                           "; needed is one size");
    }
  }
  return out;
}

void bind_files(nb::module_& module) {
  nb::class_<File>(module, "File", "Programs, schedules and choices of a text.")
      .def_prop_ro("programs",
                   [](const File& file) {
                     std::vector<std::string> out;
                     for (const Graph& graph : file.programs) out.push_back(graph.header().program);
                     return out;
                   })
      .def_prop_ro(
          "schedules",
          [](const File& file) {
            nb::list out;
            for (const Schedule& each : file.schedules) {
              out.append(nb::make_tuple(each.program, each.name));
            }
            return out;
          },
          "(program, schedule) of each.")
      .def(
          "program", [](const File& file, const std::string& name) { return file.program(name); },
          "name"_a = "", "Without a name: the only one.")
      .def(
          "schedule",
          [](const File& file, const std::string& name, const std::string& program) {
            const std::string of = program.empty() ? file.program("").header().program : program;
            return file.schedule(of, name);
          },
          "name"_a, "program"_a = "");
  module.def("parse", parse, "text"_a, "file"_a = "", "dtypes"_a = nb::dict(),
             "Reads a text; `file` stands in the places of errors.");
  module.def(
      "gradient",
      [](const Graph& program, const std::vector<std::string>& inputs) {
        return gradient(program, {inputs});
      },
      "program"_a, "inputs"_a = std::vector<std::string>(),
      "The program d_x, .. of the inputs x, .. and of d_y of each output y: the gradients by the\n"
      "inputs named, or by all floating tensors.");
  module.def("read", read, "path"_a, "dtypes"_a = nb::dict(), "Reads a *.coco file.");
}

}  // namespace

void bind_graphs(nb::module_& module) {
  nb::class_<Graph>(module, "Graph",
                    "A typed program, or what a schedule has made of it. str() is its text.")
      .def_prop_ro("name", [](const Graph& graph) { return graph.header().program; })
      .def_prop_ro("axes", [](const Graph& graph) { return graph.mesh().axes; })
      .def_prop_ro("dims", [](const Graph& graph) { return graph.header().dims; })
      .def_prop_ro("inputs", inputs_of,
                   "(name, \"tensor\" | \"state\" | \"scalar\", type) of each.")
      .def_prop_ro("outputs", outputs_of, "(name, type) of each.")
      .def_prop_ro("updates", updates_of,
                   "By the name of an output that is the new value of a state or input: that.")
      .def("_sizes_of_pieces", sizes_of_pieces)
      .def("_dtypes", dtypes_by_name)
      .def("_defaults", defaults_of)
      .def("_aliases", aliases_of)
      .def_prop_ro("_differentiable", differentiable_inputs)
      .def("_piece_shape", piece_shape)
      .def("__str__", [](const Graph& graph) { return print(graph); })
      .def("__repr__",
           [](const Graph& graph) { return "<coconet.Graph " + graph.header().program + ">"; })
      .def(
          "__eq__",
          [](const Graph& a, nb::handle b) {
            return nb::isinstance<Graph>(b) && a == nb::cast<const Graph&>(b);
          },
          "other"_a.none())
      .def(
          "typed", [](const Graph& graph) { return print(graph, true); },
          "The text, with each value's type.")
      .def(
          "dot", [](const Graph& graph) { return dot(graph); }, "For Graphviz.")
      .def("with_dtypes", with_dtypes, "dtypes"_a,
           "With other dtypes in place of its dtype parameters' defaults: {\"T\": \"f32\"}.");
  bind_files(module);
}

}  // namespace coconet::python
