#include "bench/worker/problem.h"

#include <sstream>

namespace coconet::bench {

std::map<std::string, std::string> words_of(const Problem& problem) {
  std::map<std::string, std::string> out;
  const auto add = [&](const std::string& name, std::int64_t value) {
    if (value > 0) out[name] = std::to_string(value);
  };
  add("elements", problem.elements);
  add("m", problem.m);
  add("n", problem.n);
  add("k", problem.k);
  // Runs of members of one size, as some launchers take no long words: "48x4194304,222x1024".
  const auto& members = problem.members;
  for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
    while (end < members.size() && members[end] == members[begin]) ++end;
    std::string& text = out["members"];
    text += (text.empty() ? "" : ",") + std::to_string(end - begin) + "x" +
            std::to_string(members[begin]);
  }
  return out;
}

Problem problem_of(const Arguments& arguments) {
  Problem out{.elements = arguments.number("elements"),
              .m = arguments.number("m"),
              .n = arguments.number("n"),
              .k = arguments.number("k")};
  std::istringstream text(arguments.text("members"));
  for (std::string run; std::getline(text, run, ',');) {
    const std::size_t times = run.find('x');
    out.members.insert(out.members.end(), std::stoul(run.substr(0, times)),
                       std::stoll(run.substr(times + 1)));
  }
  return out;
}

}  // namespace coconet::bench
