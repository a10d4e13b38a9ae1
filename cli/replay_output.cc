#include "cli/replay_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/tables.h"
#include "report/numbers.h"

namespace sailor::cli {
namespace {

using report::counted;
using report::duration;
using report::money;
using report::percent;
using report::ReplayResults;
using report::significant;
using Json = nlohmann::json;

double tokens_of(const JobSpec& job, const ReplayReport& report) {
  return report.steps * job.training.global_batch_size * job.training.sequence_length;
}

Json lost_seconds(const ReplayReport& report) {
  Json lost = Json::object();
  for (const LostTime cause : kAllLostTimes) lost[std::string(to_string(cause))] = report.lost_to(cause).value();
  return lost;
}

Json periods_json(const ReplayReport& report) {
  Json periods = Json::array();
  for (const ReplayPeriod& period : report.periods) {
    periods.push_back({{"from", period.from.value()},
                       {"to", period.to.value()},
                       {"availableGpus", period.available_gpus},
                       {"usedGpus", period.used_gpus},
                       {"throughput", period.throughput},
                       {"pausedSeconds", period.paused.value()},
                       {"lostSteps", period.lost_steps},
                       {"lostNodes", period.lost_nodes},
                       {"plan", period.plan}});
  }
  return periods;
}

Json one_policy(const JobSpec& job, ReplayPolicy policy, const ReplayReport& report) {
  return {{"policy", std::string(to_string(policy))},
          {"steps", report.steps},
          {"computedSteps", report.computed},
          {"goodput", report.goodput()},
          {"tokens", tokens_of(job, report)},
          {"cost", report.cost.value()},
          {"idleCost", report.idle_cost.value()},
          {"done", report.is_done},
          {"planChanges", report.changes},
          {"seconds",
           {{"total", report.end.value()},
            {"training", report.training().value()},
            {"paused", report.paused().value()},
            {"waiting", report.lost_to(LostTime::kWaiting).value()}}},
          {"lostSeconds", lost_seconds(report)},
          {"periods", periods_json(report)}};
}

std::string share(Seconds part, Seconds whole) {
  return fmt::format("{} ({})", duration(part), percent(whole > Seconds(0) ? part / whole : 0));
}

std::string figures_text(const JobSpec& job, ReplayPolicy policy, const ReplayReport& report) {
  const double tokens = tokens_of(job, report);
  std::vector<std::vector<std::string>> rows{
      {"Policy", std::string(to_string(policy))},
      {"Steps", fmt::format("{} of {}{}", significant(report.steps, 4), counted(static_cast<long>(job.training.steps)),
                            report.is_done ? ", complete" : "")},
      {"Goodput", percent(report.goodput()) + " of the time since the first plan"},
      {"Time", duration(report.end)},
      {"  useful", share(report.useful, report.end)}};
  for (const LostTime cause : kAllLostTimes) {
    rows.push_back({"  " + std::string(to_string(cause)), share(report.lost_to(cause), report.end)});
  }
  const std::string per_token =
      tokens > 0 ? ", " + money(report.cost.value() / tokens * 1e6) + " per million tokens" : "";
  rows.push_back({"Cost", fmt::format("{}, {} of it idle{}", money(report.cost.value()),
                                      money(report.idle_cost.value()), per_token)});
  rows.push_back({"Plan changes", counted(report.changes)});
  return table(rows);
}

std::string periods_text(const ReplayReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"FROM", "DURATION", "AVAILABLE GPUS", "USED", "ITERATIONS/S", "PAUSED", "STEPS LOST", "NODES LOST", "PLAN"}};
  for (const ReplayPeriod& period : report.periods) {
    rows.push_back({duration(period.from), duration(period.to - period.from), counted(period.available_gpus),
                    counted(period.used_gpus), significant(period.throughput), duration(period.paused),
                    significant(period.lost_steps), fmt::format("{}", fmt::join(period.lost_nodes, " ")), period.plan});
  }
  return table(rows);
}

std::string comparison_text(const ReplayResults& results) {
  std::vector<std::vector<std::string>> rows{
      {"POLICY", "STEPS", "OF ORACLE", "TIME", "GOODPUT", "COST", "IDLE", "CHANGES", "WAITING", "PAUSED", "REPEATING"}};
  for (const auto& [policy, report] : results.reports) {
    const auto most = report::steps_of_oracle(results);
    rows.push_back({std::string(to_string(policy)), significant(report.steps, 4),
                    most > 0 ? percent(report.steps / most) : "", duration(report.end), percent(report.goodput()),
                    money(report.cost.value()), money(report.idle_cost.value()), counted(report.changes),
                    duration(report.lost_to(LostTime::kWaiting)), duration(report.paused()),
                    duration(report.lost_to(LostTime::kRepeating))});
  }
  return table(rows);
}

std::string notes_text(const ReplayResults& results) {
  std::string text;
  for (const std::string& note : results.notes) text += "\nNote: " + note;
  return text.empty() ? text : text + "\n";
}

}  // namespace

Json replay_json(const JobSpec& job, const ReplayResults& results) {
  Json json;
  if (results.reports.size() == 1) {
    json = one_policy(job, results.reports.front().first, results.reports.front().second);
  } else {
    for (const auto& [policy, report] : results.reports) {
      json["policies"][std::string(to_string(policy))] = {
          {"usefulSteps", report.steps},    {"seconds", report.end.value()},           {"goodput", report.goodput()},
          {"dollars", report.cost.value()}, {"idleDollars", report.idle_cost.value()}, {"planChanges", report.changes},
          {"done", report.is_done},         {"lostSeconds", lost_seconds(report)}};
    }
  }
  json["seed"] = results.seed;
  json["notes"] = results.notes;
  return json;
}

std::string replay_text(const JobSpec& job, const ReplayResults& results) {
  if (results.reports.size() > 1) return comparison_text(results) + notes_text(results);
  const auto& [policy, report] = results.reports.front();
  return figures_text(job, policy, report) + "\n" + periods_text(report) + notes_text(results);
}

}  // namespace sailor::cli
