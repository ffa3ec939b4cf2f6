#include "coconet/tune/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "coconet/execute/memory_need.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/tune/contest.h"
#include "coconet/tune/graph_key.h"

namespace coconet::tune {
namespace {

constexpr std::size_t kMostTuned = 5;  // points at which schedules are looked for
constexpr double kClose = 0.03;
constexpr int kMostConfirmed = 3;  // times that changes are looked for again
constexpr std::int64_t kMostSize = std::int64_t{1} << 62;

std::vector<std::int64_t> points_of(const SweepRange& range) {
  if (range.least < 1 || range.most < range.least || range.most > kMostSize) {
    throw UserError(ErrorKind::usage, "found a sweep of " + range.dim + " from " +
                                          std::to_string(range.least) + " to " +
                                          std::to_string(range.most) +
                                          "; needed is 1 <= the first <= the last <= 2^62");
  }
  std::vector<std::int64_t> out;
  for (std::int64_t size = range.least; size < range.most; size *= 2) out.push_back(size);
  out.push_back(range.most);
  return out;
}

// Some indices of `count`, the first and the last among them, evenly.
std::vector<std::size_t> spread(std::size_t count) {
  const std::size_t some = std::min(count, kMostTuned);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < some; ++i) {
    out.push_back(some == 1 ? 0 : i * (count - 1) / (some - 1));
  }
  return out;
}

class Sweeper {
 public:
  Sweeper(const Graph& program, const execute::GlobalTensors& given, const interp::Setting& setting,
          const SweepRange& range, const TuneOptions& options)
      : program_(program), given_(given), setting_(setting), range_(range), options_(options) {
    out_.points = points_of(range);
    add(Schedule{"", program.header().program, {}, {}}, {});
  }

  Sweep run() {
    const auto began = std::chrono::steady_clock::now();
    need_all();
    find();
    compile();
    for (std::size_t p = 0; p < out_.points.size(); ++p) measure(p);
    follow();
    confirm();
    name();
    out_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return std::move(out_);
  }

 private:
  interp::Setting at(std::int64_t size) const {
    interp::Setting out = setting_;
    out.sizes[range_.dim] = size;
    return out;
  }

  // Before anything is tuned: every size is legal, and there is memory for it.
  void need_all() const {
    const plan::Plan plan =
        plan::from_schedule(program_, {.schedule = "", .staged = options_.staged});
    for (const std::int64_t size : out_.points) {
      try {
        execute::need_memory_of_run(plan, at(size), {}, given_);
      } catch (const UserError& error) {
        throw UserError(error.kind(),
                        range_.dim + "=" + std::to_string(size) + ": " + error.message());
      }
    }
  }

  void say(const std::string& what, double done) const {
    if (options_.progress) options_.progress(what, done);
  }

  void add(const Schedule& schedule, const Knobs& knobs) {
    const std::uint64_t key = graph_key(apply(program_, schedule).graph);
    const std::pair<std::uint64_t, Knobs> entry(key, knobs);
    if (std::ranges::count(known_, entry) > 0) return;
    known_.push_back(entry);
    out_.schedules.push_back({schedule, knobs, {}, {}});
  }

  void find() {
    const std::vector<std::size_t> some = spread(out_.points.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::int64_t size = out_.points[some[i]];
      TuneOptions options = options_;
      options.progress = [&](const std::string& what, double) {
        say(range_.dim + "=" + std::to_string(size) + ": " + what,
            0.6 * static_cast<double>(i) / static_cast<double>(some.size()));
      };
      const Tuning tuning = tune(program_, given_, at(size), options);
      const Trial& winner = tuning.trials[tuning.winner];
      add(winner.schedule, winner.knobs);
    }
  }

  void compile() {
    std::vector<plan::Plan> plans;
    for (const Swept& swept : out_.schedules) {
      plans.push_back(plan::from_schedule(
          apply(program_, swept.schedule).graph,
          {.schedule = swept.schedule.name, .staged = options_.staged}));  // compiled already
    }
    compiled_ = execute::compile_all(std::move(plans), runtime::Toolchain());
    for (std::size_t s = 0; s < compiled_.size(); ++s) {
      entries_.push_back({&compiled_[s], out_.schedules[s].knobs});
      out_.schedules[s].spread.resize(out_.points.size());
      out_.schedules[s].us.resize(out_.points.size(), std::numeric_limits<double>::infinity());
    }
  }

  // Of what is measured again the lesser time counts, of every schedule.
  void measure(std::size_t point) {
    const std::int64_t size = out_.points[point];
    say(range_.dim + "=" + std::to_string(size) + ": measuring",
        0.6 + 0.4 * static_cast<double>(point) / static_cast<double>(out_.points.size()));
    const interp::Setting setting = at(size);
    execute::GlobalTensors given = given_;
    execute::draw_missing(program_, setting, given);
    Contest contest(given, setting, options_.threads, options_.timeout);
    const std::vector<Timing> times = contest.measure(entries_, options_.measure_time);
    for (std::size_t s = 0; s < times.size(); ++s) {
      double& us = out_.schedules[s].us[point];
      if (times[s].us >= us) continue;
      us = times[s].us;
      out_.schedules[s].spread[point] = times[s].spread;
    }
  }

  // What one measurement alone would have changed may be noise: where the choice changes, all is
  // measured again, until it changes where it did before.
  void confirm() {
    std::set<std::size_t> confirmed;
    for (int again = 0; again < kMostConfirmed; ++again) {
      std::set<std::size_t> changes;
      for (std::size_t p = 1; p < out_.points.size(); ++p) {
        if (out_.quickest[p] != out_.quickest[p - 1] && !confirmed.contains(p)) changes.insert(p);
      }
      if (changes.empty()) return;
      for (const std::size_t p : changes) measure(p);
      confirmed.merge(changes);
      follow();
    }
  }

  // As few changes as there can be with each point's schedule close to its quickest: always the one
  // that stays close for longest.
  void follow() {
    out_.quickest.clear();
    while (out_.quickest.size() < out_.points.size()) {
      const std::size_t first = out_.quickest.size();
      std::size_t best = 0, end = first;
      for (std::size_t s = 0; s < out_.schedules.size(); ++s) {
        std::size_t p = first;
        while (p < out_.points.size() && is_close(s, p)) ++p;
        if (p > end || (p == end && time(s, first) < time(best, first))) best = s;
        end = std::max(end, p);
      }
      out_.quickest.resize(end, best);
    }
  }

  bool is_close(std::size_t schedule, std::size_t point) const {
    double least = time(schedule, point);
    for (std::size_t s = 0; s < out_.schedules.size(); ++s) least = std::min(least, time(s, point));
    return time(schedule, point) <= (1 + kClose) * least;
  }

  double time(std::size_t schedule, std::size_t point) const {
    return out_.schedules[schedule].us[point];
  }

  // Between two points the choice changes in the middle, by their ratio.
  void name() {
    Choice& choice = out_.choice;
    choice.name = "tuned";
    choice.program = program_.header().program;
    for (std::size_t p = 0; p < out_.points.size(); ++p) {
      Swept& swept = out_.schedules[out_.quickest[p]];
      const bool plain = swept.schedule.steps.empty();
      if (swept.schedule.name.empty() || swept.schedule.name == kFoundSchedule) {
        swept.schedule.name = plain ? "" : free_name("from_" + std::to_string(out_.points[p]));
      }
      const bool last = p + 1 == out_.points.size();
      if (!last && out_.quickest[p + 1] == out_.quickest[p]) continue;
      Case one{last ? "" : range_.dim, 0, swept.schedule.name, swept.knobs};
      if (!last) {
        one.most = static_cast<std::int64_t>(std::sqrt(static_cast<double>(out_.points[p]) *
                                                       static_cast<double>(out_.points[p + 1])));
      }
      choice.cases.push_back(std::move(one));
    }
  }

  // Not one of the user's.
  std::string free_name(std::string name) const {
    while (std::ranges::count(options_.schedules, name, &Schedule::name) > 0) name += "_";
    return name;
  }

  const Graph& program_;
  const execute::GlobalTensors& given_;
  const interp::Setting& setting_;
  const SweepRange& range_;
  const TuneOptions& options_;
  std::vector<std::pair<std::uint64_t, Knobs>> known_;
  std::vector<execute::Compiled> compiled_;
  std::vector<Entry> entries_;  // of out_.schedules, compiled
  Sweep out_;
};

}  // namespace

Sweep sweep(const Graph& program, const execute::GlobalTensors& given,
            const interp::Setting& setting, const SweepRange& range, const TuneOptions& options) {
  return Sweeper(program, given, setting, range, options).run();
}

}  // namespace coconet::tune
