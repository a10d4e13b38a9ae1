#include "report/replay_page.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"
#include "report/page_frame.h"

namespace sailor::report {
namespace {

constexpr double kLeft = 70;
constexpr double kRight = kPictureWidth - 10;
constexpr double kTop = 26;
constexpr double kBottom = 210;
constexpr double kHeight = 236;
constexpr std::size_t kMaxRows = 200;

// A quantity over time that is constant within a period.
struct Curve {
  std::string colour;
  std::function<double(const ReplayPeriod&)> value;
};

std::string area(const std::vector<ReplayPeriod>& periods, const Curve& curve, const Scale& x, const Scale& y) {
  std::string path = fmt::format("M{} {}", coordinate(kLeft), coordinate(kBottom));
  for (const ReplayPeriod& period : periods) {
    path += fmt::format("V{}H{}", coordinate(y.at(curve.value(period))), coordinate(x.at(period.to.value())));
  }
  return path + fmt::format("V{}Z", coordinate(kBottom));
}

// The unit of a time axis that ends at `end`, in seconds, so that its ticks are round numbers.
double time_unit(Seconds end) {
  for (const double unit : {86400.0, 3600.0, 60.0}) {
    if (end.value() >= 2 * unit) return unit;
  }
  return 1;
}

Element over_time(const ReplayReport& report, const std::string& name, const std::vector<Curve>& curves) {
  double most = 0;
  for (const Curve& curve : curves) {
    for (const ReplayPeriod& period : report.periods) most = std::max(most, curve.value(period));
  }
  const Scale x(0, std::max(report.end.value(), 1e-9), kLeft, kRight);
  const Scale y(0, most > 0 ? most * 1.05 : 1, kBottom, kTop);
  Element svg = picture(kHeight, name);
  svg.add(label({0, kTop - 12}, name, "soft"));
  for (const double tick : y.ticks(4)) {
    svg.add(line({kLeft, y.at(tick)}, {kRight, y.at(tick)}, "grid"));
    svg.add(label({kLeft - 6, y.at(tick) + 4}, significant(tick), "soft end"));
  }
  const double unit = time_unit(report.end);
  for (const double tick : Scale(0, std::max(report.end.value(), 1e-9) / unit, kLeft, kRight).ticks(8)) {
    svg.add(
        label({x.at(tick * unit), kBottom + 18}, duration(Seconds(tick * unit)), tick > 0 ? "soft middle" : "soft"));
  }
  for (const Curve& curve : curves) {
    svg.add(Element("path", {{"class", curve.colour}, {"d", area(report.periods, curve, x, y)}}));
  }
  return svg;
}

Element periods_table(const ReplayReport& report) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(report.periods.size(), kMaxRows); ++i) {
    const ReplayPeriod& period = report.periods[i];
    rows.push_back({{duration(period.from), duration(period.to - period.from), counted(period.available_gpus),
                     period.used_gpus > 0 ? counted(period.used_gpus) : "waits",
                     period.used_gpus > 0 ? significant(period.throughput) : "",
                     period.paused > Seconds(0) ? duration(period.paused) : "",
                     period.lost_steps > 0 ? significant(period.lost_steps) : "", period.plan}});
  }
  const std::string rest = report.periods.size() > kMaxRows
                               ? fmt::format("The first {} of {} periods.", kMaxRows, report.periods.size())
                               : "A period lies between two changes of the available GPUs or of the plan.";
  return figure(rest, table({{"From"},
                             {"Duration"},
                             {"GPUs available", true},
                             {"used", true},
                             {"iterations/s", true},
                             {"paused", true},
                             {"steps lost", true},
                             {"Plan"}},
                            rows));
}

Element words(const JobSpec& job, const ReplayReport& report, ReplayPolicy policy) {
  const std::string end =
      report.is_done ? fmt::format("The job completed after {}.", duration(report.end))
                     : fmt::format("The trace ends after {}, before the job's {} are complete.", duration(report.end),
                                   counted(static_cast<long>(job.training.steps), "step"));
  return Element("p").text(fmt::format(
      "Policy {}. {} The plan changed {}; {} completed steps were lost and had to be repeated.", to_string(policy), end,
      report.changes == 1 ? "once" : counted(report.changes) + " times", significant(report.computed - report.steps)));
}

}  // namespace

std::string replay_page(const JobSpec& job, const ReplayReport& report, ReplayPolicy policy) {
  const std::string title = fmt::format("{}: replay", job.key.name);
  const double tokens = report.steps * job.training.global_batch_size * job.training.sequence_length;
  const double whole = std::max(report.end.value(), 1e-9);
  Element facts("dl", {{"class", "facts"}});
  facts.add(fact("Steps", significant(report.steps, 4), significant(tokens / 1e6) + " million tokens"))
      .add(fact("Goodput", percent(report.goodput()), "of the computed steps were not lost"))
      .add(fact("Training", percent(report.training.value() / whole),
                fmt::format("paused {}, waiting {}", percent(report.paused.value() / whole),
                            percent(report.waiting.value() / whole))))
      .add(fact("Cost", money(report.cost.value()),
                tokens > 0 ? money(report.cost.value() / tokens * 1e6) + " per million tokens" : ""));
  Element body("body");
  body.add(Element("h1").text(title)).add(words(job, report, policy)).add(facts);
  body.add(Element("h2").text("Over time"));
  body.add(legend({{"sky", "available GPUs"}, {"blue", "GPUs that the plan used"}}));
  body.add(figure("", over_time(report, "GPUs",
                                {{"sky", [](const ReplayPeriod& period) { return period.available_gpus; }},
                                 {"blue", [](const ReplayPeriod& period) { return period.used_gpus; }}})));
  body.add(figure("", over_time(report, "iterations per second",
                                {{"green", [](const ReplayPeriod& period) { return period.throughput; }}})));
  body.add(Element("h2").text("Periods")).add(periods_table(report));
  body.add(Element("footer").text(fmt::format("Job {}. Estimated by the simulator of Sailor.", to_string(job.key))));
  return page(title, body);
}

}  // namespace sailor::report
