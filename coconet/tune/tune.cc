#include "coconet/tune/tune.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "coconet/execute/memory_need.h"
#include "coconet/execute/verify.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/plan/one_shot.h"
#include "coconet/tune/calibrate.h"
#include "coconet/tune/contest.h"

namespace coconet::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOfAKind = 1;    // of schedules that differ in slices alone: at first
constexpr std::size_t kFinalists = 4;  // beside the unscheduled program
constexpr double kClose = 1.3;         // times the quickest: measured anew
constexpr double kTie = 0.01;          // by so little fewer steps are worth more
constexpr std::array<std::int64_t, 4> kChunks = {2, 4, 16, 32};

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

// A schedule that may win: compiled if it is to be measured.
struct Runner {
  const Candidate* candidate = nullptr;
  std::optional<execute::Compiled> compiled;
};

std::string kind_of(const Candidate& candidate) {
  std::string out;
  for (const Step& step : candidate.steps) out += without_slices(step) + ";";
  return out;
}

// Spearman's: of the ranks in which two lists order the same things.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<double> out;
    for (const double value : values) {
      double below = 0, equal = 0;
      for (const double other : values) {
        below += other < value ? 1 : 0;
        equal += other == value ? 1 : 0;
      }
      out.push_back(below + (equal - 1) / 2);
    }
    return out;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

class Tuner {
 public:
  Tuner(const Graph& program, const execute::GlobalTensors& given, const interp::Setting& setting,
        const TuneOptions& options)
      : program_(program),
        setting_(setting),
        options_(options),
        given_(given),
        rates_((say("calibrating", 0), rates_of_machine(setting.mesh.ranks()))),
        contest_(given_, setting_, options.threads, options.timeout) {
    execute::need_memory_of_run(plan_of(program_), setting_, {}, given_);
    execute::draw_missing(program_, setting_, given_);
  }

  Tuning run() {
    const Search found = look();
    choose(found);
    compile();
    measure();
    settle();
    list_unmeasured(found);
    sort();
    return std::move(out_);
  }

 private:
  void say(const std::string& what, double done) const {
    if (options_.progress) options_.progress(what, done);
  }

  plan::Plan plan_of(const Graph& graph) const {
    return plan::from_schedule(graph, {.schedule = "", .staged = options_.staged});
  }

  double predict(const Graph& graph) const {
    const plan::Plan plan = plan_of(graph);
    const plan::BoundPlan bound = plan::bind(plan, setting_.sizes, setting_.mesh);
    double out = plan::cost_of(bound, rates_).microseconds;
    if (setting_.mesh.ranks() > 1 && plan::allows_one_shot(plan)) {
      out = std::min(out, plan::cost_of(bound, rates_, plan::Protocol::one_shot).microseconds);
    }
    return out;
  }

  Search look() {
    say("searching", 0);
    Search found = search(
        program_, [this](const Graph& graph) { return predict(graph); }, options_.search);
    out_.rates = rates_;
    out_.graphs = found.graphs;
    out_.pruned = found.pruned;
    out_.complete = found.complete;
    out_.search_ms = found.milliseconds;
    return found;
  }

  // The unscheduled program, then the cheapest, at first one of a kind.
  void choose(const Search& found) {
    const auto add = [&](const Candidate& candidate) {
      runners_.push_back({&candidate, std::nullopt});
    };
    for (const Candidate& candidate : found.candidates) {
      if (candidate.steps.empty()) add(candidate);
    }
    check(runners_.size() == 1, "the unscheduled program is a candidate");
    const std::size_t most =
        options_.search.exhaustive ? found.candidates.size() : options_.most_measured;
    std::map<std::string, std::size_t> of_kind;
    std::vector<const Candidate*> later;
    for (const Candidate& candidate : found.candidates) {
      if (candidate.steps.empty()) continue;
      if (++of_kind[kind_of(candidate)] > kOfAKind && !options_.search.exhaustive) {
        later.push_back(&candidate);
      } else if (runners_.size() < most) {
        add(candidate);
      }
    }
    for (const Candidate* candidate : later) {
      if (runners_.size() < most) add(*candidate);
    }
  }

  // As many at once as there are cores, the most promising first, as long as there is time.
  void compile() {
    const Clock::time_point began = Clock::now();
    constexpr std::size_t kAtOnce = 4;
    for (std::size_t first = 0; first < runners_.size(); first += kAtOnce) {
      const bool late = Clock::now() - began > options_.compile_time;
      if (first > 0 && late && !options_.search.exhaustive) break;
      say("compiling", double(first) / double(runners_.size()));
      std::vector<plan::Plan> plans;
      const std::size_t end = std::min(first + kAtOnce, runners_.size());
      for (std::size_t r = first; r < end; ++r) {
        plans.push_back(plan_of(runners_[r].candidate->applied.graph));
      }
      std::vector<execute::Compiled> made = execute::compile_all(std::move(plans), toolchain_);
      for (std::size_t r = first; r < end; ++r) {
        runners_[r].compiled.emplace(std::move(made[r - first]));
      }
    }
    out_.compile_ms = milliseconds_since(began);
  }

  // --- Measuring ---

  struct Measured {
    std::size_t runner;
    Knobs knobs;
    double us = 0;
  };

  Entry entry_of(const Measured& measured) const {
    return {&*runners_[measured.runner].compiled, measured.knobs};
  }

  void time(std::vector<Measured>& some, std::chrono::milliseconds time) {
    std::vector<Entry> entries;
    for (const Measured& each : some) entries.push_back(entry_of(each));
    const std::vector<double> times = contest_.measure(entries, time);
    for (std::size_t i = 0; i < some.size(); ++i) some[i].us = times[i];
    std::ranges::stable_sort(some, {}, &Measured::us);
  }

  void measure() {
    const Clock::time_point began = Clock::now();
    say("measuring", 0);
    std::vector<Measured> all;
    for (std::size_t r = 0; r < runners_.size(); ++r) {
      if (runners_[r].compiled) all.push_back({r, {}});
    }
    time(all, options_.measure_time);
    first_round_ = all;
    say("measuring", 0.5);
    std::vector<Measured> some = finalists(all);
    time(some, options_.measure_time);
    finals_ = std::move(some);
    out_.measure_ms = milliseconds_since(began);
  }

  // The quickest and what comes close, each with its knobs in other ways, and the unscheduled
  // program.
  std::vector<Measured> finalists(const std::vector<Measured>& all) const {
    std::vector<Measured> out;
    for (const Measured& each : all) {
      const bool close = each.us <= kClose * all[0].us && out.size() < kFinalists;
      if (close || each.runner == 0) out.push_back(each);
    }
    const std::size_t schedules = out.size();
    for (std::size_t i = 0; i < schedules; ++i) {
      if (i < 2 || out[i].runner == 0) add_knobs(out[i], out);
    }
    return out;
  }

  void add_knobs(const Measured measured, std::vector<Measured>& out) const {  // a copy: out grows
    const plan::Plan& plan = runners_[measured.runner].compiled->plan();
    const auto add = [&](const Knobs& knobs) { out.push_back({measured.runner, knobs}); };
    if (setting_.mesh.ranks() > 1 && plan::allows_one_shot(plan)) {
      add({{}, true});
      add({{}, false});
    }
    const std::size_t groups = plan.overlaps.size();
    if (groups == 0) return;
    const plan::BoundPlan bound = plan::bind(plan, setting_.sizes, setting_.mesh);
    const std::int64_t usual = bound.knobs[0];
    for (const std::int64_t chunks : kChunks) {
      if (chunks != usual) add({std::vector<std::int64_t>(groups, chunks), {}});
    }
  }

  // --- Deciding ---

  Trial trial_of(const Measured& measured) const {
    const Runner& runner = runners_[measured.runner];
    Trial out = trial_of(*runner.candidate);
    out.knobs = measured.knobs;
    out.launches = static_cast<int>(runner.compiled->plan().launches.size());
    out.measured_us = measured.us;
    return out;
  }

  Trial trial_of(const Candidate& candidate) const {
    Trial out;
    out.schedule.program = program_.header().program;
    out.schedule.name = candidate.steps.empty() ? "" : "tuned";
    out.schedule.steps = candidate.steps;
    out.exactness = candidate.applied.exactness;
    out.predicted_us = candidate.predicted_us;
    return out;
  }

  // The quickest that gives the right results; by a hair, the one of fewer steps.
  void settle() {
    std::vector<double> predicted, measured;
    for (const Measured& each : first_round_) {
      predicted.push_back(runners_[each.runner].candidate->predicted_us);
      measured.push_back(each.us);
    }
    out_.rank_correlation = rank_correlation(predicted, measured);
    std::vector<Measured> order = finals_;
    const auto steps = [&](const Measured& each) {
      return runners_[each.runner].candidate->steps.size();
    };
    std::ranges::stable_sort(order, [&](const Measured& a, const Measured& b) {
      const bool tie_a = a.us <= (1 + kTie) * finals_[0].us;
      const bool tie_b = b.us <= (1 + kTie) * finals_[0].us;
      if (tie_a && tie_b) return steps(a) < steps(b);
      return a.us < b.us;
    });
    std::optional<Measured> won;
    for (const Measured& each : order) {
      Trial trial = trial_of(each);
      if (!won) {
        trial.refused = difference_of(each);
        if (trial.refused.empty()) won = each;
      }
      out_.trials.push_back(std::move(trial));
    }
    check(won.has_value(), "the unscheduled program may win");
    // Times drift from one round to the next: what was measured once alone counts beside the
    // unscheduled program.
    const double drift = time_of_plain(finals_) / time_of_plain(first_round_);
    for (Measured each : first_round_) {
      const auto again = [&](const Measured& other) { return other.runner == each.runner; };
      if (std::ranges::any_of(finals_, again)) continue;
      each.us *= drift;
      out_.trials.push_back(trial_of(each));
    }
    winner_ = {trial_of(*won).schedule, won->knobs};
  }

  static double time_of_plain(const std::vector<Measured>& some) {
    return std::ranges::find(some, std::size_t{0}, &Measured::runner)->us;
  }

  // "" if its results are those of the unscheduled program, or within the bound of one that
  // reassociates.
  std::string difference_of(const Measured& measured) {
    if (measured.runner == 0) return "";
    say("comparing results", 0.9);
    const Runner& runner = runners_[measured.runner];
    if (runner.candidate->applied.exactness == Exactness::reassociates) {
      return contest_.outside_bound(program_, entry_of(measured), toolchain_);
    }
    if (!plain_) plain_ = contest_.result_of({&*runners_[0].compiled, {}});
    const execute::RunResult result = contest_.result_of(entry_of(measured));
    const std::string difference = execute::first_difference(
        {runner.candidate->applied.graph, result}, {program_, *plain_}, setting_);
    return difference.empty() ? "" : "other bits than unscheduled: " + difference;
  }

  void list_unmeasured(const Search& found) {
    for (const Candidate& candidate : found.candidates) {
      const auto same = [&](const Runner& runner) {
        return runner.candidate == &candidate && runner.compiled;
      };
      if (std::ranges::none_of(runners_, same)) out_.trials.push_back(trial_of(candidate));
    }
  }

  void sort() {
    std::ranges::stable_sort(out_.trials, [](const Trial& a, const Trial& b) {
      if (a.measured_us.has_value() != b.measured_us.has_value()) return a.measured_us.has_value();
      return a.measured_us ? *a.measured_us < *b.measured_us : a.predicted_us < b.predicted_us;
    });
    const auto index_of = [&](const auto& is) {
      return static_cast<std::size_t>(std::ranges::find_if(out_.trials, is) - out_.trials.begin());
    };
    out_.winner = index_of([&](const Trial& trial) {
      return trial.schedule == winner_.first && trial.knobs == winner_.second;
    });
    out_.unscheduled = index_of([](const Trial& trial) { return trial.schedule.steps.empty(); });
  }

  const Graph& program_;
  const interp::Setting& setting_;
  const TuneOptions& options_;
  execute::GlobalTensors given_;
  plan::Rates rates_;
  Contest contest_;
  const runtime::Toolchain toolchain_;
  std::deque<Runner> runners_;  // the unscheduled program is the first
  std::vector<Measured> first_round_, finals_;
  std::optional<execute::RunResult> plain_;
  std::pair<Schedule, Knobs> winner_;
  Tuning out_;
};

}  // namespace

Tuning tune(const Graph& program, const execute::GlobalTensors& given,
            const interp::Setting& setting, const TuneOptions& options) {
  return Tuner(program, given, setting, options).run();
}

}  // namespace coconet::tune
