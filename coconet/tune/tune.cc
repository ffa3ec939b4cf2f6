#include "coconet/tune/tune.h"

#include <algorithm>
#include <deque>
#include <set>

#include "coconet/execute/memory_need.h"
#include "coconet/execute/verify.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/plan/one_shot.h"
#include "coconet/runtime/cores.h"
#include "coconet/tune/calibrate.h"
#include "coconet/tune/contest.h"
#include "coconet/tune/entrants.h"
#include "coconet/tune/graph_key.h"
#include "coconet/tune/rank_correlation.h"

namespace coconet::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFinalists = 4;        // beside the unscheduled program
constexpr std::size_t kFinalistsOfAll = 12;  // if exhaustive
constexpr std::size_t kMostAtOnce = 40;      // measured once before the finals
constexpr int kLongFinals = 10;              // times as long, if exhaustive
constexpr double kClose = 1.3;               // times the quickest: measured anew
constexpr std::size_t kFewestCompiled = 4;   // however long it takes: fewer say little
constexpr double kTie = 0.01;                // by so little fewer steps are worth more
constexpr double kKnobs = 0.03;              // and knobs as they are chosen by sizes
constexpr std::array<std::int64_t, 4> kChunks = {2, 4, 16, 32};

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

// A schedule that may win: compiled if it is to be measured.
struct Runner {
  const Candidate* candidate = nullptr;
  std::string name = {};  // of its schedule
  std::optional<execute::Compiled> compiled = {};
};

class Tuner {
 public:
  // `picked`: nullptr, or a trial to measure in the final round too.
  Tuner(const Graph& program, const execute::GlobalTensors& given, const interp::Setting& setting,
        const TuneOptions& options, const Trial* picked)
      : program_(program),
        setting_(setting),
        options_(options),
        given_(given),
        rates_((say("calibrating", 0), rates_of_machine(setting.mesh.ranks(), options.timeout))),
        contest_(given_, setting_, options.threads, options.timeout),
        picked_(picked) {
    execute::need_memory_of_run(plan_of(program_), setting_, {}, given_);
    out_.drawn = execute::draw_missing(program_, setting_, given_);
  }

  Tuning run() {
    const Search found = look();
    enter(found);
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

  // `name`: of the schedule, as run has it: the same library then.
  plan::Plan plan_of(const Graph& graph, const std::string& name = "") const {
    return plan::from_schedule(graph, {.schedule = name, .staged = options_.staged});
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

  void enter(const Search& found) {
    entrants_ = entrants(
        program_, found, [this](const Graph& graph) { return predict(graph); }, options_);
    if (picked_) picked_runner_ = entrants_.add(program_, picked_->schedule, picked_->predicted_us);
    out_.left_out = std::move(entrants_.left_out);
    for (const Entrant& entrant : entrants_.all) {
      runners_.push_back({entrant.candidate, entrant.name});
    }
  }

  // As many at once as there are cores, the most promising first, as long as there is time for
  // others that take as long as the last.
  void compile() {
    const Clock::time_point began = Clock::now();
    Clock::time_point last = began;
    const std::size_t at_once = std::max<std::size_t>(1, runtime::allowed_cores().size());
    for (std::size_t first = 0; first < runners_.size(); first += at_once) {
      const Clock::time_point now = Clock::now();
      const bool late = now - began + (now - last) > options_.compile_time;
      if (first >= kFewestCompiled && late && !options_.search.exhaustive) break;
      last = now;
      say("compiling", double(first) / double(runners_.size()));
      std::vector<plan::Plan> plans;
      const std::size_t end = std::min(first + at_once, runners_.size());
      for (std::size_t r = first; r < end; ++r) {
        plans.push_back(plan_of(runners_[r].candidate->applied.graph, runners_[r].name));
      }
      std::vector<execute::Compiled> made = execute::compile_all(std::move(plans), toolchain_);
      for (std::size_t r = first; r < end; ++r) {
        runners_[r].compiled.emplace(std::move(made[r - first]));
        if (out_.note.empty()) out_.note = runners_[r].compiled->library().note;
      }
    }
    out_.compile_ms = milliseconds_since(began);
  }

  // --- Measuring ---

  struct Measured {
    std::size_t runner;
    Knobs knobs;
    double us = 0, spread = 0;
  };

  Entry entry_of(const Measured& measured) const {
    return {&*runners_[measured.runner].compiled, measured.knobs};
  }

  void time(std::vector<Measured>& some, std::chrono::milliseconds time) {
    std::vector<Entry> entries;
    for (const Measured& each : some) entries.push_back(entry_of(each));
    const std::vector<Timing> times = contest_.measure(entries, time);
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i].us = times[i].us;
      some[i].spread = times[i].spread;
    }
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
    // The quickest of very many are the luckiest: they are measured again, before few are left.
    while (all.size() > kMostAtOnce) {
      keep_third(all);
      time(all, options_.measure_time);
    }
    std::vector<Measured> some = finalists(all);
    time(some, options_.measure_time * (options_.search.exhaustive ? kLongFinals : 1));
    finals_ = std::move(some);
    out_.measure_ms = milliseconds_since(began);
  }

  // Of those that were measured the quicker third, and who is measured in any case.
  void keep_third(std::vector<Measured>& all) const {
    const double last = all[all.size() / 3].us;
    std::erase_if(all, [&](const Measured& each) {
      return each.us > last && each.runner != 0 && each.runner != picked_runner_;
    });
  }

  // The quickest and what comes close, each with its knobs in other ways, and the unscheduled
  // program.
  std::vector<Measured> finalists(const std::vector<Measured>& all) const {
    std::vector<Measured> out;
    const std::size_t most = options_.search.exhaustive ? kFinalistsOfAll : kFinalists;
    for (const Measured& each : all) {
      const bool close = each.us <= kClose * all[0].us && out.size() < most;
      if (close || each.runner == 0 || each.runner == picked_runner_) out.push_back(each);
    }
    const std::size_t schedules = out.size();
    for (std::size_t i = 0; i < schedules; ++i) {
      const bool picked = out[i].runner == picked_runner_;
      if (i < 2 || out[i].runner == 0 || picked) add_knobs(out[i], out);
    }
    return out;
  }

  execute::RunRequest request_of_threads() const {
    execute::RunRequest out;
    out.setting = setting_;
    out.threads = options_.threads;
    return out;
  }

  void add_knobs(const Measured measured, std::vector<Measured>& out) const {  // a copy: out grows
    const plan::Plan& plan = runners_[measured.runner].compiled->plan();
    const auto add = [&](const Knobs& knobs) { out.push_back({measured.runner, knobs}); };
    const bool moves = std::ranges::any_of(
        plan.graph.nodes(), [](const Node& node) { return is_communication(node.op); });
    if (setting_.mesh.ranks() > 1 && moves && plan::allows_one_shot(plan)) {
      add({{}, true});
      add({{}, false});
    }
    // Where threads have little to share, waiting for each other costs more than it gains.
    const int threads = execute::threads_of(request_of_threads());
    for (const int fewer : std::set<int>{1, threads / 2}) {
      if (fewer >= 1 && fewer < threads) add({{}, {}, fewer});
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
    Trial out = trial_of(*runner.candidate, runner.name);
    out.knobs = measured.knobs;
    out.launches = static_cast<int>(runner.compiled->plan().launches.size());
    out.measured_us = measured.us;
    out.spread = measured.spread;
    return out;
  }

  Trial trial_of(const Candidate& candidate, const std::string& name) const {
    Trial out;
    out.schedule.program = program_.header().program;
    out.schedule.name = candidate.steps.empty() ? "" : name;
    out.schedule.steps = candidate.steps;
    out.exactness = candidate.applied.exactness;
    out.predicted_us = candidate.predicted_us;
    return out;
  }

  // What its time counts as: knobs are worth it only if they gain more than noise.
  static double weighed(const Measured& measured) {
    return measured.us * (measured.knobs == Knobs{} ? 1 : 1 + kKnobs);
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
    const double best = weighed(*std::ranges::min_element(order, {}, weighed));
    std::ranges::stable_sort(order, [&](const Measured& a, const Measured& b) {
      const bool tie_a = weighed(a) <= (1 + kTie) * best;
      const bool tie_b = weighed(b) <= (1 + kTie) * best;
      if (tie_a && tie_b && steps(a) != steps(b)) return steps(a) < steps(b);
      return tie_a != tie_b ? tie_a : weighed(a) < weighed(b);
    });
    std::optional<Measured> won;
    for (const Measured& each : order) {
      Trial trial = trial_of(each);
      trial.is_final = true;
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
    std::set<std::uint64_t> measured;
    for (const Runner& runner : runners_) {
      if (runner.compiled) measured.insert(graph_key(runner.candidate->applied.graph));
    }
    for (const Candidate& candidate : found.candidates) {
      if (measured.contains(graph_key(candidate.applied.graph))) continue;
      out_.trials.push_back(trial_of(candidate, kFoundSchedule));
    }
    for (const Runner& runner : runners_) {
      const bool own = !runner.compiled && runner.name != kFoundSchedule;
      if (own) out_.left_out.push_back(runner.name + ": there was no time left to compile it");
    }
  }

  void sort() {
    std::ranges::stable_sort(out_.trials, [](const Trial& a, const Trial& b) {
      if (a.is_final != b.is_final) return a.is_final;
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
    if (!picked_) return;
    const std::vector<Step>& steps = runners_[*picked_runner_].candidate->steps;
    out_.picked = index_of([&](const Trial& trial) {
      return trial.schedule.steps == steps && trial.knobs == picked_->knobs;
    });
  }

  const Graph& program_;
  const interp::Setting& setting_;
  const TuneOptions& options_;
  execute::GlobalTensors given_;
  plan::Rates rates_;
  Contest contest_;
  const Trial* picked_;
  std::optional<std::size_t> picked_runner_;
  Entrants entrants_;
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
  if (!options.search.exhaustive) return Tuner(program, given, setting, options, nullptr).run();
  TuneOptions usual = options;
  usual.search.exhaustive = false;
  const Tuning tuning = Tuner(program, given, setting, usual, nullptr).run();
  return Tuner(program, given, setting, options, &tuning.trials[tuning.winner]).run();
}

}  // namespace coconet::tune
