#include "cli/tune_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/chosen.h"
#include "cli/html.h"
#include "coconet/graph/print.h"
#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/region.h"
#include "coconet/tune/found_text.h"

namespace coconet::cli {
namespace {

using tune::Trial;
using tune::Tuning;

constexpr const char* kStyle =
    "body{font:15px sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "pre,.op{font:13px monospace;background:#f6f6f6;padding:.5em;overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;text-align:left;"
    "border-bottom:1px solid #ddd}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    "tr.won{background:#e7f4e4;font-weight:bold}tr.plain{background:#f3f3f3}"
    "tr.before td{padding-top:1em;color:#555}"
    ".bar{height:1.1em;background:#0072b2;display:inline-block;vertical-align:middle}"
    ".two{display:flex;gap:2em;flex-wrap:wrap}.two>div{flex:1;min-width:340px}"
    ".op{margin:2px 0;border-left:8px solid #bbb;padding:.25em .6em}"
    ".group{border:2px solid #888;border-radius:6px;margin:6px 0;padding:4px 8px}"
    ".group>b{font-size:.85em;color:#555}.key span{border-left:8px solid;padding:0 1em 0 .4em}";

struct Colored {
  const char* placement;
  const char* color;
};
constexpr Colored kColors[] = {{"replicated", "#bbbbbb"},
                               {"sliced", "#009e73"},
                               {"partial", "#d55e00"},
                               {"local", "#0072b2"},
                               {"rooted", "#cc79a7"}};

// By the placement that says most: partial, then local, rooted, sliced.
const char* color_of(const Layout& layout) {
  if (!layout.axes_that_are<Partial>().empty()) return kColors[2].color;
  if (!layout.axes_that_are<Local>().empty()) return kColors[3].color;
  if (!layout.axes_that_are<Rooted>().empty()) return kColors[4].color;
  return layout.axes_that_are<Sliced>().empty() ? kColors[0].color : kColors[1].color;
}

std::string begin(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      escaped(title), kStyle);
}

// A scheduled program: operations in order, groups as boxes.
class Listing {
 public:
  explicit Listing(const Graph& graph) : graph_(graph) {}

  std::string html() {
    int open = -1;
    for (int i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.name.empty() || std::holds_alternative<Input>(node.op)) continue;
      const int group = outermost_group(graph_, {i}).index;
      if (group != open) {
        if (open >= 0) out_ += "</div>\n";
        if (group >= 0) begin_group(group);
        open = group;
      }
      out_ +=
          fmt::format("<div class=\"op\" style=\"border-color:{}\" title=\"{}\">{} = {}</div>\n",
                      color_of(node.type.layout), escaped(node.type.text(graph_.mesh())),
                      escaped(node.name), escaped(expression_text(graph_, {i})));
    }
    return out_ + (open >= 0 ? "</div>\n" : "");
  }

 private:
  void begin_group(int group) {
    const Group& of = graph_.group({group});
    std::string words = of.kind == GroupKind::fused ? "one kernel" : "chunk by chunk";
    for (const GroupId inner : of.groups) words += ", " + graph_.group(inner).name + " fused";
    out_ += fmt::format("<div class=\"group\"><b>{}: {}</b>\n", escaped(of.name), escaped(words));
  }

  const Graph& graph_;
  std::string out_;
};

std::string key() {
  std::string out = "<p class=\"key\">";
  for (const auto& [placement, color] : kColors) {
    out += fmt::format("<span style=\"border-color:{}\">{}</span>", color, placement);
  }
  return out + " types on hover</p>\n";
}

std::string trials_of(const Tuning& tuning) {
  std::string out =
      "<table><tr><th class=\"n\">us</th><th class=\"n\">predicted</th><th class=\"n\">times as "
      "fast</th><th></th><th>schedule</th></tr>\n";
  const double plain = *tuning.trials[tuning.unscheduled].measured_us;
  double longest = 0;
  for (const Trial& trial : tuning.trials) {
    longest = std::max(longest, trial.measured_us.value_or(0));
  }
  bool final = true;
  for (std::size_t i = 0; i < tuning.trials.size(); ++i) {
    const Trial& trial = tuning.trials[i];
    if (!trial.measured_us) break;  // the rest were not measured
    if (final && !trial.is_final) {
      out +=
          "<tr class=\"before\"><td colspan=\"5\">measured before the final round, and out"
          "</td></tr>\n";
    }
    final = trial.is_final;
    const char* kind = i == tuning.winner ? "won" : i == tuning.unscheduled ? "plain" : "";
    out += fmt::format(
        "<tr class=\"{}\"><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{:.2f}</td><td><span class=\"bar\" style=\"width:{:.0f}px\"></span></td>"
        "<td>{} {}{}</td></tr>\n",
        kind, us_text(*trial.measured_us), us_text(trial.predicted_us), plain / *trial.measured_us,
        150 * *trial.measured_us / longest, escaped(summary_of(trial.schedule)),
        escaped(options_text(trial.knobs)),
        trial.refused.empty() ? "" : "; refused, " + escaped(trial.refused));
  }
  return out + "</table>\n";
}

// By the model, as nothing else knows the launches of one kernel.
std::string launches_of(const TuneReport& report, const Trial& trial) {
  const plan::Plan plan = plan::from_schedule(apply(report.program, trial.schedule).graph,
                                              {.schedule = "", .staged = report.staged});
  const plan::BoundPlan bound =
      plan::bind(plan, report.setting.sizes, report.setting.mesh, trial.knobs.chunks);
  const plan::Cost cost = plan::cost_of(bound, report.tuning.rates);
  std::string out = "<table>";
  for (std::size_t i = 0; i < cost.launches.size(); ++i) {
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{:.3g} us</td><td><span class=\"bar\" "
        "style=\"width:{:.0f}px\"></span></td></tr>\n",
        escaped(plan.launches[i].name), cost.launches[i],
        200 * cost.launches[i] / std::max(cost.microseconds, 1e-9));
  }
  return out +
         fmt::format("<tr><td>in all</td><td class=\"n\">{} us; measured: {}</td></tr>",
                     us_text(cost.microseconds), us_text(trial.measured_us.value_or(0))) +
         "</table>\n";
}

std::string both(const std::string& winner, const std::string& plain) {
  return "<div class=\"two\"><div><b>the winner</b>\n" + winner +
         "</div><div><b>unscheduled</b>\n" + plain + "</div></div>\n";
}

}  // namespace

std::string page_of(const TuneReport& report) {
  const Tuning& tuning = report.tuning;
  const Trial& winner = tuning.trials[tuning.winner];
  const Trial& plain = tuning.trials[tuning.unscheduled];
  std::string out =
      begin(report.program.header().program + " on " + sizes_text(report.program, report.setting));
  out += "<p>" + escaped(report.machine) + "</p>\n<pre>" + escaped(verdict_of(report)) +
         escaped(picked_text(tuning)) + "</pre>\n";
  out +=
      "<h2>What was measured</h2>\n<p>In turns on the same ranks, each call from the same "
      "inputs; of the slowest rank, six rounds, without what all took longer in one. Bars: "
      "time.</p>\n" +
      trials_of(tuning);
  const auto listing = [&](const Trial& trial) {
    return Listing(apply(report.program, trial.schedule).graph).html();
  };
  out += "<h2>What runs</h2>\n" + key() + both(listing(winner), listing(plain));
  out += "<h2>Where the time goes, as the model has it</h2>\n";
  if (tuning.rank_correlation) {
    out += fmt::format(
        "<p>The model orders what was measured with a rank correlation of {:.2f}; where its sums "
        "are far from what was measured, so are its parts.</p>\n",
        *tuning.rank_correlation);
  }
  out += both(launches_of(report, winner), launches_of(report, plain));
  const std::string blocked = blocked_text(report);
  if (!blocked.empty())
    out += "<h2>What stands against more</h2>\n<pre>" + escaped(blocked) + "</pre>\n";
  return out + "</body></html>\n";
}

std::string page_of(const SweepReport& report) {
  return begin(report.program.header().program + " over " + report.dim) + plot_of(report) +
         "<h2>Times</h2>\n<pre>" + escaped(text_of(report)) +
         "</pre>\n<h2>For the file</h2>\n<pre>" +
         escaped(tune::text_of(tune::found_of(report.sweep), "")) + "</pre>\n</body></html>\n";
}

}  // namespace coconet::cli
