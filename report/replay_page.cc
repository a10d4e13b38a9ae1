#include "report/replay_page.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/drawing.h"
#include "report/numbers.h"
#include "report/page_frame.h"
#include "report/replay_charts.h"

namespace sailor::report {
namespace {

constexpr std::size_t kMaxRows = 200;

Element periods_table(const ReplayReport& report) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(report.periods.size(), kMaxRows); ++i) {
    const ReplayPeriod& period = report.periods[i];
    rows.push_back({{duration(period.from), duration(period.to - period.from), counted(period.available_gpus),
                     period.used_gpus > 0 ? counted(period.used_gpus) : "waits",
                     period.used_gpus > 0 ? significant(period.throughput) : "",
                     period.paused > Seconds(0) ? duration(period.paused) : "",
                     period.lost_steps > 0 ? significant(period.lost_steps) : "",
                     fmt::format("{}", fmt::join(period.lost_nodes, " ")), period.plan}});
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
                             {"Nodes lost"},
                             {"Plan"}},
                            rows));
}

Element words(const JobSpec& job, ReplayPolicy policy, const ReplayReport& report) {
  const std::string end =
      report.is_done ? fmt::format("The job completed after {}.", duration(report.end))
                     : fmt::format("The trace ends after {}, before the job's {} are complete.", duration(report.end),
                                   counted(static_cast<long>(job.training.steps), "step"));
  return Element("p").text(fmt::format(
      "Policy {}. {} The plan changed {}; {} completed steps were lost and had to be repeated.", to_string(policy), end,
      report.changes == 1 ? "once" : counted(report.changes) + " times", significant(report.computed - report.steps)));
}

Element facts_of(const JobSpec& job, const ReplayReport& report) {
  const double tokens = report.steps * job.training.global_batch_size * job.training.sequence_length;
  const double whole = std::max(report.end.value(), 1e-9);
  Element facts("dl", {{"class", "facts"}});
  facts.add(fact("Steps", significant(report.steps, 4), significant(tokens / 1e6) + " million tokens"))
      .add(fact("Goodput", percent(report.goodput()), "of the time since the first plan"))
      .add(fact("Training", percent(report.training().value() / whole),
                fmt::format("paused {}, waiting {}", percent(report.paused().value() / whole),
                            percent(report.lost_to(LostTime::kWaiting).value() / whole))))
      .add(fact("Cost", money(report.cost.value()),
                tokens > 0 ? money(report.cost.value() / tokens * 1e6) + " per million tokens" : ""));
  return facts;
}

Element over_time(const ReplayReport& report) {
  Element section("section");
  section.add(legend({{"sky", "available GPUs"}, {"blue", "GPUs that the plan used"}}));
  section.add(figure("", areas_over_time(report, "GPUs",
                                         {{"sky", [](const ReplayPeriod& period) { return period.available_gpus; }},
                                          {"blue", [](const ReplayPeriod& period) { return period.used_gpus; }}})));
  return section;
}

void add_one_policy(Element& body, const JobSpec& job, const ReplayResults& results) {
  const auto& [policy, report] = results.reports.front();
  body.add(words(job, policy, report)).add(facts_of(job, report));
  body.add(Element("h2").text("Over time")).add(over_time(report));
  body.add(figure("", areas_over_time(report, "iterations per second",
                                      {{"green", [](const ReplayPeriod& period) { return period.throughput; }}})));
  body.add(Element("h2").text("Where the time went")).add(legend_of_times()).add(figure("", time_bars(results)));
  body.add(Element("h2").text("Periods")).add(periods_table(report));
}

Element comparison(const ReplayResults& results) {
  const double most = steps_of_oracle(results);
  std::vector<Row> rows;
  rows.reserve(results.reports.size());
  for (const auto& [policy, report] : results.reports) {
    rows.push_back(
        {{std::string(to_string(policy)), significant(report.steps, 4), most > 0 ? percent(report.steps / most) : "",
          duration(report.end), percent(report.goodput()), money(report.cost.value()), money(report.idle_cost.value()),
          counted(report.changes), duration(report.lost_to(LostTime::kWaiting)), duration(report.paused()),
          duration(report.lost_to(LostTime::kRepeating))}});
  }
  return figure("", table({{"Policy"},
                           {"steps", true},
                           {"of the oracle", true},
                           {"time", true},
                           {"goodput", true},
                           {"cost", true},
                           {"of it idle", true},
                           {"changes", true},
                           {"waiting", true},
                           {"paused", true},
                           {"repeating", true}},
                          rows));
}

void add_comparison(Element& body, const ReplayResults& results) {
  body.add(
      Element("p").text("The same job over the same nodes, by several policies. The oracle knows the future, so no "
                        "policy completes more steps."));
  body.add(comparison(results));
  body.add(Element("h2").text("Completed steps")).add(legend_of_policies(results));
  body.add(figure("", steps_over_time(results)));
  body.add(Element("h2").text("Where the time went")).add(legend_of_times()).add(figure("", time_bars(results)));
  const auto& [policy, report] = results.reports.front();
  body.add(Element("h2").text(fmt::format("GPUs of policy {}", to_string(policy)))).add(over_time(report));
}

}  // namespace

std::string replay_page(const JobSpec& job, const ReplayResults& results) {
  const std::string title = fmt::format("{}: replay", job.key.name);
  Element body("body");
  body.add(Element("h1").text(title));
  if (results.reports.size() == 1) {
    add_one_policy(body, job, results);
  } else {
    add_comparison(body, results);
  }
  for (const std::string& note : results.notes) body.add(Element("p", {{"class", "small"}}).text(note));
  body.add(Element("footer").text(fmt::format("Job {}. Estimated by the simulator of Sailor.", to_string(job.key))));
  return page(title, body);
}

}  // namespace sailor::report
