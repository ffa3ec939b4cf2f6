#include "tests/fault/examples.h"

#include <map>
#include <utility>

#include "coconet/schedule/file.h"

namespace coconet::tests {
namespace {

struct Options {
  std::string always, small, large;  // % is the number of ranks
};

const std::map<std::string, Options>& options() {
  const std::string step = "--scalar t=1 ", list = "--dim N_i=5,1027,0,3001";
  const std::string large = "--dim N=1000003", large_list = "--dim N_i=400000,0,700001";
  static const std::map<std::string, Options> out = {
      {"adam", {step, "--dim N=50021", large}},
      {"attention", {"", "--dim B=2,S=9,H=32", "--dim B=4,S=64,H=512"}},
      {"attention_norm", {"", "--dim B=2,S=9,H=32", "--dim B=4,S=64,H=512"}},
      {"block",
       {"", "--dim S=13,B=2,H=24,F=20,nh=%,hd=6", "--dim S=64,B=4,H=256,F=512,nh=%,hd=64"}},
      {"clip", {"", list, large_list}},
      {"lamb", {step, "--dim N=5003", large}},
      {"lamb_list", {step, list, large_list}},
      {"mlp", {"", "--dim B=2,S=9,H=16", "--dim B=4,S=64,H=384"}},
      {"mlp_norm", {"", "--dim B=2,S=9,H=16", "--dim B=4,S=64,H=384"}},
      {"moe", {"", "--dim E=8,C=37,H=5,F=9", "--dim E=8,C=2048,H=128,F=256"}},
      {"momentum", {"", "--dim K=70,H=45", "--dim K=1000,H=1000"}},
      {"pipeline", {"", "--dim B=3,S=5,H=70", "--dim B=8,S=64,H=512"}},
      {"sgd", {"", "--dim N=3001", large}},
  };
  return out;
}

std::string with_ranks(std::string text, int ranks) {
  const std::size_t at = text.find('%');
  return at == text.npos ? text : text.replace(at, 1, std::to_string(ranks));
}

// As "dp=2,tp=3": each axis but the last takes a divisor of what is left.
std::string mesh_text(const Mesh& mesh, int ranks, std::mt19937& random) {
  std::string out;
  for (int axis = 0; axis < mesh.size(); ++axis) {
    int size = ranks;
    while (axis + 1 < mesh.size()) {
      size = std::uniform_int_distribution<int>(1, ranks)(random);
      if (ranks % size == 0) break;
    }
    ranks /= size;
    out += (axis == 0 ? "" : ",") + mesh.axes[axis] + "=" + std::to_string(size);
  }
  return out;
}

File file_of(const std::string& example) { return read_file("examples/" + example + ".coco"); }

}  // namespace

std::vector<std::string> sized_examples() {
  std::vector<std::string> out;
  for (const auto& [name, ignored] : options()) out.push_back(name);
  return out;
}

std::vector<Scheduled> all_scheduled() {
  std::vector<Scheduled> out;
  for (const std::string& name : sized_examples()) {
    out.push_back({name, ""});
    for (const Schedule& schedule : file_of(name).schedules) out.push_back({name, schedule.name});
  }
  return out;
}

std::string run_words(const Scheduled& what, Size size, int ranks, std::mt19937& random) {
  const Options& given = options().at(what.example);
  const std::string dims = size == Size::small ? given.small : given.large;
  std::string out = "run examples/" + what.example + ".coco --mesh " +
                    mesh_text(file_of(what.example).program().mesh(), ranks, random) + " " +
                    given.always + with_ranks(dims, ranks);
  if (!what.schedule.empty()) out += " --schedule " + what.schedule;
  if (what.schedule == "overlapped") {
    out += " --chunks " + std::to_string(std::uniform_int_distribution<int>(0, 3)(random));
  }
  return out;
}

}  // namespace coconet::tests
