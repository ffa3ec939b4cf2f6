#include "coconet/tune/contest.h"

#include <algorithm>

#include "coconet/base/error.h"
#include "coconet/execute/verify.h"
#include "coconet/runtime/stream_choice.h"

namespace coconet::tune {
namespace {

// The first calls of a plan also choose how it stores (runtime/stream_choice.h).
constexpr int kSettling = runtime::StreamChoice::kUntimed + runtime::StreamChoice::kTrial;
constexpr int kProbed = 4;       // calls of each, before all else
constexpr int kFewest = 3;       // calls of a turn
constexpr int kMostCalls = 150;  // of a turn
constexpr int kRounds = 6;
constexpr double kFar = 3;            // times the quickest: not measured further
constexpr double kLongCall = 50'000;  // microseconds: of which few are made

double median(std::vector<double> values) {
  check(!values.empty(), "a median is of something");
  // Of an even number the lower one: it is the time of a call.
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Of an even number the mean of the two in the middle.
double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
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

std::vector<Timing> timings_of(const std::vector<std::vector<double>>& medians) {
  if (medians.empty()) return {};
  std::vector<double> levels;  // by round: how much longer than in its quickest most take
  for (std::size_t round = 0; round < medians[0].size(); ++round) {
    std::vector<double> ratios;
    for (const std::vector<double>& one : medians) {
      ratios.push_back(one[round] / *std::ranges::min_element(one));
    }
    levels.push_back(middle(std::move(ratios)));
  }
  std::vector<Timing> out;
  for (const std::vector<double>& one : medians) {
    std::vector<double> times;
    for (std::size_t round = 0; round < one.size(); ++round) {
      times.push_back(one[round] / levels[round]);
    }
    std::ranges::sort(times);
    const double second = times[std::min<std::size_t>(1, times.size() - 1)];
    out.push_back({second, times.back() / times.front() - 1});
  }
  return out;
}

Contest::Contest(const execute::GlobalTensors& given, const interp::Setting& setting, int threads,
                 std::chrono::milliseconds timeout)
    : given_(given), setting_(setting), threads_(threads), timeout_(timeout) {}

std::vector<Timing> Contest::measure(const std::vector<Entry>& entries,
                                     std::chrono::milliseconds time) {
  const int count = static_cast<int>(entries.size());
  if (count == 0) return {};
  // A few calls of each say how many there is time for.
  std::vector<execute::Turn> turns;
  for (int e = 0; e < count; ++e) turns.push_back({e, kProbed});
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
  std::map<int, std::vector<double>> medians;  // of those that are close, by round
  const std::vector<std::vector<double>> measured = take_turns(entries, turns);
  for (std::size_t t = settled; t < turns.size(); ++t) {
    std::vector<double> calls = measured[t];
    calls.erase(calls.begin());  // with what the turn before has left in the caches
    // No clock gives less, and it is divided by.
    medians[turns[t].contender].push_back(std::max(median(std::move(calls)), 1e-3));
  }
  std::vector<Timing> out;
  for (const double us : one) out.push_back({us, 0});
  std::vector<std::vector<double>> of_close;
  for (const auto& [entry, rounds] : medians) of_close.push_back(rounds);
  const std::vector<Timing> timings = timings_of(of_close);
  std::size_t next = 0;
  for (const auto& [entry, rounds] : medians) {
    out[static_cast<std::size_t>(entry)] = timings[next++];
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
