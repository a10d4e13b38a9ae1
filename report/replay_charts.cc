#include "report/replay_charts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kLeft = 70;
constexpr double kRight = kPictureWidth - 10;
constexpr double kTop = 26;
constexpr double kBottom = 210;
constexpr double kHeight = 236;
constexpr double kBar = 22;
constexpr double kBarDistance = 30;
// A curve needs no more points than a picture has columns.
constexpr std::size_t kMostPoints = 2000;

std::string colour_of(ReplayPolicy policy) {
  switch (policy) {
    case ReplayPolicy::kLive:
      return "blue";
    case ReplayPolicy::kLiveAhead:
      return "sky";
    case ReplayPolicy::kRestart:
      return "orange";
    case ReplayPolicy::kRestartAhead:
      return "green";
    case ReplayPolicy::kStatic:
      return "purple";
    case ReplayPolicy::kVaruna:
      return "red";
    case ReplayPolicy::kOracle:
      break;
  }
  return "grey";
}

std::string colour_of(LostTime cause) {
  switch (cause) {
    case LostTime::kWaiting:
      return "grey";
    case LostTime::kPlanning:
      return "purple";
    case LostTime::kSaving:
      return "sky";
    case LostTime::kStarting:
      return "orange";
    case LostTime::kRescaling:
      return "blue";
    case LostTime::kRepeating:
      break;
  }
  return "red";
}

double positive(double value) { return std::max(value, 1e-9); }

// The unit of a time axis that ends at `end`, in seconds, so that its ticks are round numbers.
double time_unit(Seconds end) {
  for (const double unit : {86400.0, 3600.0, 60.0}) {
    if (end.value() >= 2 * unit) return unit;
  }
  return 1;
}

// An empty picture with axes: time from 0 to `end`, and a quantity.
Element axes(const std::string& name, Seconds end, const Scale& y) {
  Element svg = picture(kHeight, name);
  svg.add(label({0, kTop - 12}, name, "soft"));
  for (const double tick : y.ticks(4)) {
    svg.add(line({kLeft, y.at(tick)}, {kRight, y.at(tick)}, "grid"));
    svg.add(label({kLeft - 6, y.at(tick) + 4}, significant(tick), "soft end"));
  }
  const Scale x(0, positive(end.value()), kLeft, kRight);
  const double unit = time_unit(end);
  for (const double tick : Scale(0, positive(end.value()) / unit, kLeft, kRight).ticks(8)) {
    svg.add(
        label({x.at(tick * unit), kBottom + 18}, duration(Seconds(tick * unit)), tick > 0 ? "soft middle" : "soft"));
  }
  return svg;
}

std::string area(const std::vector<ReplayPeriod>& periods, const Curve& curve, const Scale& x, const Scale& y) {
  std::string path = fmt::format("M{} {}", coordinate(kLeft), coordinate(kBottom));
  for (const ReplayPeriod& period : periods) {
    path += fmt::format("V{}H{}", coordinate(y.at(curve.value(period))), coordinate(x.at(period.to.value())));
  }
  return path + fmt::format("V{}Z", coordinate(kBottom));
}

double last_steps(const ReplayPeriod& period) {
  return period.throughput * (period.to - period.from - period.paused).value();
}

std::string curve_of_steps(const ReplayReport& report, const Scale& x, const Scale& y) {
  std::string path = fmt::format("M{} {}", coordinate(kLeft), coordinate(kBottom));
  const std::size_t stride = report.periods.size() / kMostPoints + 1;
  double steps = 0;
  for (std::size_t i = 0; i < report.periods.size(); ++i) {
    const ReplayPeriod& period = report.periods[i];
    const bool is_drawn = i % stride == 0 || i + 1 == report.periods.size();
    steps -= period.lost_steps;
    if (is_drawn) {
      path += fmt::format("L{} {}", coordinate(x.at((period.from + period.paused).value())), coordinate(y.at(steps)));
    }
    steps += last_steps(period);
    if (is_drawn) path += fmt::format("L{} {}", coordinate(x.at(period.to.value())), coordinate(y.at(steps)));
  }
  return path;
}

Seconds longest(const ReplayResults& results) {
  Seconds end;
  for (const auto& [policy, report] : results.reports) end = std::max(end, report.end);
  return end;
}

void add_bar(Element& svg, const ReplayReport& report, double top, const Scale& x) {
  double at = 0;
  const auto add = [&](Seconds time, const std::string& colour, std::string_view meaning) {
    if (time <= Seconds(0)) return;
    const Box box{x.at(at), top, x.at(at + time.value()) - x.at(at), kBar};
    svg.add(rectangle(box, colour).add(tooltip(fmt::format("{}: {}", meaning, duration(time)))));
    at += time.value();
  };
  add(report.useful, "green", "useful");
  for (const LostTime cause : kAllLostTimes) add(report.lost_to(cause), colour_of(cause), to_string(cause));
}

}  // namespace

Element areas_over_time(const ReplayReport& report, const std::string& name, const std::vector<Curve>& curves) {
  double most = 0;
  for (const Curve& curve : curves) {
    for (const ReplayPeriod& period : report.periods) most = std::max(most, curve.value(period));
  }
  const Scale x(0, positive(report.end.value()), kLeft, kRight);
  const Scale y(0, most > 0 ? most * 1.05 : 1, kBottom, kTop);
  Element svg = axes(name, report.end, y);
  for (const Curve& curve : curves) {
    svg.add(Element("path", {{"class", curve.colour}, {"d", area(report.periods, curve, x, y)}}));
  }
  return svg;
}

Element steps_over_time(const ReplayResults& results) {
  double most = 0;
  for (const auto& [policy, report] : results.reports) most = std::max(most, report.computed);
  const Seconds end = longest(results);
  const Scale x(0, positive(end.value()), kLeft, kRight);
  const Scale y(0, most > 0 ? most * 1.05 : 1, kBottom, kTop);
  Element svg = axes("completed steps", end, y);
  for (const auto& [policy, report] : results.reports) {
    svg.add(Element("path", {{"class", "curve " + colour_of(policy)}, {"d", curve_of_steps(report, x, y)}}));
  }
  return svg;
}

Element time_bars(const ReplayResults& results) {
  const double bottom = kTop + kBarDistance * static_cast<double>(results.reports.size());
  Element svg = picture(bottom + 26, "where the time went");
  const Seconds end = longest(results);
  const Scale x(0, positive(end.value()), kLeft, kRight);
  double top = kTop;
  for (const auto& [policy, report] : results.reports) {
    svg.add(label({kLeft - 6, top + kBar - 6}, to_string(policy), "end"));
    add_bar(svg, report, top, x);
    top += kBarDistance;
  }
  const double unit = time_unit(end);
  for (const double tick : Scale(0, positive(end.value()) / unit, kLeft, kRight).ticks(8)) {
    svg.add(label({x.at(tick * unit), bottom + 12}, duration(Seconds(tick * unit)), tick > 0 ? "soft middle" : "soft"));
  }
  return svg;
}

Element legend_of_policies(const ReplayResults& results) {
  std::vector<LegendEntry> entries;
  entries.reserve(results.reports.size());
  for (const auto& [policy, report] : results.reports) {
    entries.push_back({colour_of(policy), std::string(to_string(policy))});
  }
  return legend(entries);
}

Element legend_of_times() {
  std::vector<LegendEntry> entries{{"green", "useful"}};
  for (const LostTime cause : kAllLostTimes) entries.push_back({colour_of(cause), std::string(to_string(cause))});
  return legend(entries);
}

}  // namespace sailor::report
