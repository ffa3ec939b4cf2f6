#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "cli/html.h"
#include "cli/sweep_report.h"
#include "cli/tune_report.h"

namespace coconet::cli {
namespace {

using tune::Sweep;

constexpr double kWidth = 860, kHeight = 480, kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;
constexpr double kLegendLine = 18;
constexpr std::array kColors = {"#888888", "#0072b2", "#d55e00", "#009e73",
                                "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

// Logarithmic in both directions.
class Plot {
 public:
  explicit Plot(const SweepReport& report) : report_(report), sweep_(report.sweep) {
    for (const tune::Swept& swept : sweep_.schedules) {
      for (const double us : swept.us) {
        least_ = std::min(least_, us);
        most_ = std::max(most_, us);
      }
    }
    least_ = std::pow(10, std::floor(std::log10(least_)));
    most_ = std::pow(10, std::ceil(std::log10(most_) + 1e-9));
  }

  std::string svg() {
    const double height = kHeight + kLegendLine * static_cast<double>(sweep_.schedules.size());
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n",
        kWidth, height);
    text(kWidth / 2, 20, "middle",
         report_.program.header().program + " on " + report_.others + ": time of a call by " +
             report_.dim + "; dashed: the choice changes");
    grid();
    changes();
    for (std::size_t s = 0; s < sweep_.schedules.size(); ++s) line(s);
    return out_ + "</svg>\n";
  }

 private:
  double x(double size) const {
    const double least = std::log2(static_cast<double>(sweep_.points.front()));
    const double most = std::log2(static_cast<double>(sweep_.points.back()));
    const double at = most > least ? (std::log2(size) - least) / (most - least) : 0.5;
    return kLeft + at * (kWidth - kLeft - kRight);
  }
  double y(double us) const {
    const double at = std::log10(us / least_) / std::log10(most_ / least_);
    return kHeight - kBottom - at * (kHeight - kTop - kBottom);
  }

  void text(double at_x, double at_y, const std::string& anchor, const std::string& words) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x,
                        at_y, anchor, escaped(words));
  }
  void stroke(double x1, double y1, double x2, double y2, const std::string& style) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1,
                        y1, x2, y2, style);
  }

  void grid() {
    const std::string thin = "stroke=\"#dddddd\"";
    for (double us = least_; us <= most_ * 1.001; us *= 10) {
      stroke(kLeft, y(us), kWidth - kRight, y(us), thin);
      text(kLeft - 6, y(us) + 4, "end",
           us < 1000 ? fmt::format("{:g} us", us) : fmt::format("{:g} ms", us / 1000));
    }
    const std::size_t every = (sweep_.points.size() + 12) / 13;
    for (std::size_t p = 0; p < sweep_.points.size(); p += every) {
      const double at = x(static_cast<double>(sweep_.points[p]));
      stroke(at, kTop, at, kHeight - kBottom, thin);
      text(at, kHeight - kBottom + 18, "middle", size_text(sweep_.points[p]));
    }
    text(kWidth / 2, kHeight - 12, "middle", report_.dim);
  }

  static std::string size_text(std::int64_t size) {
    const auto bits = static_cast<std::uint64_t>(size);
    return std::has_single_bit(bits) && size >= 1024 ? "2^" + std::to_string(std::countr_zero(bits))
                                                     : std::to_string(size);
  }

  void changes() {
    for (const Case& one : sweep_.choice.cases) {
      if (one.dim.empty()) continue;
      const double at = x(static_cast<double>(one.most));
      stroke(at, kTop, at, kHeight - kBottom, "stroke=\"#444444\" stroke-dasharray=\"5 4\"");
    }
  }

  void line(std::size_t schedule) {
    const std::string color = kColors[schedule % kColors.size()];
    std::string points;
    for (std::size_t p = 0; p < sweep_.points.size(); ++p) {
      points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(sweep_.points[p])),
                            y(sweep_.schedules[schedule].us[p]));
    }
    out_ +=
        fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>\n",
                    color, points);
    const double at = kHeight + kLegendLine * static_cast<double>(schedule);
    stroke(kLeft, at, kLeft + 24, at, fmt::format("stroke=\"{}\" stroke-width=\"3\"", color));
    text(kLeft + 32, at + 4, "start", legend_of(sweep_, schedule));
  }

  const SweepReport& report_;
  const Sweep& sweep_;
  double least_ = 1e300, most_ = 0;
  std::string out_;
};

}  // namespace

std::string plot_of(const SweepReport& report) { return Plot(report).svg(); }

}  // namespace coconet::cli
