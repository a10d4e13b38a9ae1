#include "trainer/elastic/protocol/state_report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/model/json_reader.h"

namespace sailor::trainer {
namespace {

using Moment = std::pair<std::int64_t, std::int64_t>;  // step and generation of the last update, which identify a state

Moment moment_of(const StateReport& report) { return {report.version.step, report.version.updated_by}; }

bool holds_any(const StateReport& report) { return report.version.updated_by > 0 && !report.units.empty(); }

bool is_complete(const std::vector<int>& all_units, const std::vector<StateReport>& reports, const ResumePoint& point) {
  return std::ranges::all_of(all_units, [&](int unit) {
    return std::ranges::any_of(reports, [&](const StateReport& report) {
      return can_offer(report, point) && std::ranges::binary_search(report.units, unit);
    });
  });
}

// Returns true if the worker voted in the generation that confirmed the version, and has not had complete gradients of
// the next step. So no worker has applied that step.
bool lacks_gradients(const StateVersion& version) { return !version.has_gradients && !version.may_be_behind; }

// Describes all state reports of one moment: the newest generation that trained from it, and whether all workers of
// that generation have gradients.
struct Frontier {
  std::int64_t confirmed = 0;
  bool all_have_gradients = true;

  void add(const StateVersion& version) {
    if (version.confirmed < confirmed) return;
    if (version.confirmed > confirmed) *this = {.confirmed = version.confirmed, .all_have_gradients = true};
    all_have_gradients = all_have_gradients && !lacks_gradients(version);
  }
};

std::map<Moment, Frontier> frontiers(const std::vector<StateReport>& reports) {
  std::map<Moment, Frontier> found;
  for (const StateReport& report : reports) {
    if (holds_any(report)) found[moment_of(report)].add(report.version);
  }
  return found;
}

// Returns every point that some worker could offer, the newest first.
std::vector<ResumePoint> candidates(const std::vector<StateReport>& reports) {
  std::set<ResumePoint, std::greater<>> points;
  for (const auto& [moment, frontier] : frontiers(reports)) {
    points.insert({frontier.confirmed, moment.first, moment.second});
    if (frontier.all_have_gradients) points.insert({frontier.confirmed, moment.first + 1, frontier.confirmed});
  }
  return {points.begin(), points.end()};
}

// Returns true if the report shows that no worker has applied the step after the point. A worker that has only the
// gradients that lead to the point cannot have those of the step after it.
bool shows_no_next_step(const StateReport& report, const ResumePoint& point) {
  const StateVersion& version = report.version;
  if (!can_offer(report, point) || version.confirmed != point.confirmed) return false;
  return version.step < point.step || lacks_gradients(version);
}

}  // namespace

std::string to_line(const StateReport& report) {
  return nlohmann::json{{"step", report.version.step},
                        {"hasGradients", report.version.has_gradients},
                        {"mayBeBehind", report.version.may_be_behind},
                        {"updatedBy", report.version.updated_by},
                        {"confirmed", report.version.confirmed},
                        {"loss", report.loss},
                        {"nextLoss", report.next_loss},
                        {"reached", report.reached},
                        {"firstLoss", report.first_loss},
                        {"stoppedSeconds", report.stopped_seconds}}
      .dump();
}

Result<StateReport> state_report_from_line(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  JsonReader reader(json, "state report");
  StateReport report{.version = {.updated_by = reader.required<std::int64_t>("updatedBy"),
                                 .step = reader.required<std::int64_t>("step"),
                                 .confirmed = reader.required<std::int64_t>("confirmed"),
                                 .has_gradients = reader.required<bool>("hasGradients"),
                                 .may_be_behind = reader.required<bool>("mayBeBehind")},
                     .units = {},
                     .loss = reader.required<double>("loss"),
                     .next_loss = reader.required<double>("nextLoss"),
                     .reached = reader.required<std::int64_t>("reached"),
                     .first_loss = reader.required<double>("firstLoss"),
                     .stopped_seconds = reader.required<double>("stoppedSeconds")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return report;
}

bool can_offer(const StateReport& report, const ResumePoint& point) {
  if (!holds_any(report)) return false;
  const StateVersion& version = report.version;
  if (version.step == point.step) return version.updated_by == point.updated_by;
  return version.step + 1 == point.step && version.has_gradients && version.confirmed == point.updated_by;
}

std::optional<ResumePoint> resume_point(const std::vector<int>& all_units, const std::vector<StateReport>& reports) {
  for (ResumePoint point : candidates(reports)) {
    if (!is_complete(all_units, reports, point)) continue;
    point.may_be_behind =
        std::ranges::none_of(reports, [&](const StateReport& report) { return shows_no_next_step(report, point); });
    return point;
  }
  return std::nullopt;
}

std::vector<std::vector<int>> offers(const std::vector<StateReport>& reports, const ResumePoint& point) {
  std::vector<std::vector<int>> lists;
  lists.reserve(reports.size());
  for (const StateReport& report : reports) {
    lists.push_back(can_offer(report, point) ? report.units : std::vector<int>{});
  }
  return lists;
}

std::int64_t steps_lost(const std::vector<StateReport>& reports, std::int64_t resumed_step) {
  std::int64_t reached = resumed_step;
  for (const StateReport& report : reports) reached = std::max(reached, report.reached);
  return reached - resumed_step;
}

}  // namespace sailor::trainer
