#include "tests/fuzz/targets.h"

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "coconet/base/error.h"
#include "coconet/graph/print.h"
#include "coconet/io/npy.h"
#include "coconet/io/safetensors.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"

namespace coconet::fuzz {
namespace {

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void print_and_parse(const Graph& graph) {
  const std::string printed = print(graph);
  check(parse_program(printed) == graph, "a printed graph parses back equal:\n" + printed);
}

void try_schedule(const File& file, const Schedule& schedule) {
  try {
    print_and_parse(apply(file.program(schedule.program), schedule).graph);
  } catch (const UserError&) {
    // A schedule may be refused.
  }
}

constexpr std::string_view kCocoWords[] = {"mesh w(a)\n",
                                           "dim N, M\n",
                                           "dtype T = f16\n",
                                           "program p(",
                                           "schedule s for p {",
                                           "return ",
                                           "f32[N]",
                                           "f16[N,M]",
                                           "sliced(0)",
                                           "sliced(*)",
                                           "sliced(0..1)",
                                           "local",
                                           "partial(+)",
                                           "rooted(0)",
                                           "replicated",
                                           "@a",
                                           "@[a,b]",
                                           "state ",
                                           "scalar ",
                                           "matmul(",
                                           "all_reduce(",
                                           "all_gather(",
                                           "reduce_scatter(",
                                           "update(",
                                           "norm(",
                                           "layer_norm(",
                                           "dropout(",
                                           "split(",
                                           "reorder(",
                                           "fuse(",
                                           "overlap(",
                                           "fused f {",
                                           "overlapped {",
                                           "1e-3",
                                           "9223372036854775807",
                                           "size(a)",
                                           "max",
                                           " list",
                                           "def f(x) = ",
                                           "where(",
                                           "cast(",
                                           "'"};
constexpr std::string_view kNpyWords[] = {
    "\x93NUMPY", "'descr': ", "'<f4'",  "'>i8'", "'|b1'", "'fortran_order': ",  "True",
    "False",     "'shape': ", "(2, 3)", "(0,)",  "()",    "9223372036854775807"};
constexpr std::string_view kSafetensorsWords[] = {"\"dtype\":",
                                                  "\"F32\"",
                                                  "\"BF16\"",
                                                  "\"shape\":",
                                                  "\"data_offsets\":",
                                                  "[0,4]",
                                                  "[]",
                                                  "\"__metadata__\":",
                                                  "18446744073709551615",
                                                  "-1",
                                                  "1e3",
                                                  "{",
                                                  "}",
                                                  "\"w\":"};

constexpr std::array<Target, 3> kTargets = {
    Target{"coco", coco, kCocoWords},
    Target{"npy", npy, kNpyWords},
    Target{"safetensors", safetensors, kSafetensorsWords},
};

}  // namespace

void coco(Bytes bytes) {
  File file;
  try {
    file = parse_file(text_of(bytes), "fuzz.coco");
  } catch (const UserErrors&) {
    return;
  }
  for (const Graph& graph : file.programs) print_and_parse(graph);
  for (const Schedule& schedule : file.schedules) {
    check(parse_schedule(coconet::text_of(schedule)) == schedule,
          "a printed schedule parses back equal");
    try_schedule(file, schedule);
  }
}

void npy(Bytes bytes) {
  TensorData read;
  try {
    read = read_npy(bytes, "fuzz.npy");
  } catch (const UserError&) {
    return;
  }
  std::vector<std::byte> written = npy_prefix(read, "again.npy");
  written.insert(written.end(), read.bytes.begin(), read.bytes.end());
  check(read_npy(written, "again.npy") == read, "a written .npy file reads back equal");
}

void safetensors(Bytes bytes) {
  try {
    const SafetensorsFile file(bytes, "fuzz.safetensors");
    for (const SafetensorsEntry& entry : file.entries()) {
      if (!entry.dtype) continue;
      const TensorData whole = file.read(entry.name);
      check(whole.shape == entry.shape, "a tensor has its entry's shape");
      if (whole.shape.empty()) continue;
      check(file.read_rows(entry.name, 0, whole.shape[0]) == whole, "all rows are the tensor");
    }
  } catch (const UserError&) {
    // A file may be refused, and so may a tensor of it.
  }
}

std::span<const Target> targets() { return kTargets; }

const Target& target(std::string_view name) {
  for (const Target& each : kTargets) {
    if (each.name == name) return each;
  }
  throw InternalError("no fuzz target " + std::string(name));
}

}  // namespace coconet::fuzz
