#include "coconet/tune/contest.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/execute/verify.h"

namespace coconet::tune {
namespace {

// The first calls of a plan also choose how it stores (runtime/stream_choice.h).
constexpr int kSettling = 12;
constexpr int kFewest = 4;       // calls of a turn
constexpr int kMostCalls = 200;  // of a turn
constexpr int kRounds = 4;
constexpr double kFar = 3;            // times the quickest: not measured further
constexpr double kLongCall = 50'000;  // microseconds: of which few are made

double median(std::vector<double> values) {
  check(!values.empty(), "a median is of something");
  // Of an even number the lower one: it is the time of a call.
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Timing timing_of(const std::vector<double>& rounds) {
  const auto [least, most] = std::ranges::minmax(rounds);
  return {least, least > 0 ? (most - least) / least : 0};
}

// How the inputs of a graph are cut.
std::string cuts_of(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Input>(node.op)) continue;
    out += node.name + ": " + node.type.text(graph.mesh()) + "\n";
  }
  return out;
}

}  // namespace

Contest::Contest(const execute::GlobalTensors& given, const interp::Setting& setting, int threads,
                 std::chrono::milliseconds timeout)
    : given_(given), setting_(setting), threads_(threads), timeout_(timeout) {}

std::vector<Timing> Contest::measure(const std::vector<Entry>& entries,
                                     std::chrono::milliseconds time) {
  const int count = static_cast<int>(entries.size());
  if (count == 0) return {};
  // A few calls of each say how many there is time for.
  std::vector<execute::Turn> turns;
  for (int e = 0; e < count; ++e) turns.push_back({e, kFewest});
  std::vector<double> one;
  for (const std::vector<double>& calls : take_turns(entries, turns)) {
    one.push_back(*std::ranges::min_element(calls));
  }
  turns.clear();
  const double quickest = *std::ranges::min_element(one);
  std::vector<int> close;
  for (int e = 0; e < count; ++e) {
    if (one[static_cast<std::size_t>(e)] <= kFar * quickest) close.push_back(e);
  }
  const double of_turn = static_cast<double>(std::chrono::microseconds(time).count()) /
                         static_cast<double>(close.size()) / kRounds;
  const int settling = quickest > kLongCall ? 0 : kSettling;
  for (const int e : close) {
    if (settling > 0) turns.push_back({e, settling});
  }
  const std::size_t settled = turns.size();
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::reverse(close);
    for (const int turn : close) {
      // What is between calls takes about as long as a call.
      const double calls = of_turn / (2 * one[static_cast<std::size_t>(turn)]);
      turns.push_back({turn, static_cast<int>(std::clamp<double>(calls, kFewest, kMostCalls))});
    }
  }
  std::vector<std::vector<double>> medians(entries.size());
  const std::vector<std::vector<double>> measured = take_turns(entries, turns);
  for (std::size_t t = settled; t < turns.size(); ++t) {
    std::vector<double> calls = measured[t];
    calls.erase(calls.begin());  // with what the turn before has left in the caches
    medians[static_cast<std::size_t>(turns[t].contender)].push_back(median(std::move(calls)));
  }
  std::vector<Timing> out;
  for (std::size_t e = 0; e < medians.size(); ++e) {
    out.push_back(medians[e].empty() ? Timing{one[e], 0} : timing_of(medians[e]));
  }
  return out;
}

execute::RunResult Contest::result_of(const Entry& entry) {
  return execute::run(*entry.compiled, request_of(entry), inputs_of(entry.compiled->plan().graph));
}

std::string Contest::outside_bound(const Graph& program, const Entry& entry,
                                   const runtime::Toolchain& toolchain) {
  const Graph& scheduled = entry.compiled->plan().graph;
  execute::RunRequest request = request_of(entry), plain = request;
  request.inputs = inputs_of(scheduled);
  plain.inputs = inputs_of(program);
  const execute::CompiledForVerify compiled(program, scheduled, Exactness::reassociates, toolchain);
  const execute::Verification verification =
      execute::verify(compiled, plain, request, execute::run(*entry.compiled, request));
  return verification.within_bound ? "" : "outside its bound: " + verification.first_outside;
}

const execute::Inputs& Contest::inputs_of(const Graph& graph) {
  const auto [inputs, fresh] = inputs_.try_emplace(cuts_of(graph));
  if (fresh) inputs->second = execute::distribute(graph, given_, setting_);
  return inputs->second;
}

execute::RunRequest Contest::request_of(const Entry& entry) const {
  execute::RunRequest out;
  out.setting = setting_;
  out.knobs = entry.knobs;
  out.threads = threads_;
  out.timeout = timeout_;
  out.check_inputs = false;  // they are cut from one tensor
  return out;
}

std::vector<std::vector<double>> Contest::take_turns(const std::vector<Entry>& entries,
                                                     const std::vector<execute::Turn>& turns) {
  std::vector<execute::RunRequest> requests;
  for (const Entry& entry : entries) requests.push_back(request_of(entry));
  std::vector<execute::Contender> contenders;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const execute::Compiled& compiled = *entries[e].compiled;
    contenders.push_back({&compiled, &requests[e], &inputs_of(compiled.plan().graph)});
  }
  return execute::run_in_turns(contenders, turns);
}

}  // namespace coconet::tune
