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

Moment moment_of(const Holding& holding) { return {holding.version.step, holding.version.updated_by}; }

bool holds_any(const Holding& holding) { return holding.version.updated_by > 0 && !holding.units.empty(); }

bool is_complete(const std::vector<int>& all_units, const std::vector<Holding>& holdings, const ResumePoint& point) {
  return std::ranges::all_of(all_units, [&](int unit) {
    return std::ranges::any_of(holdings, [&](const Holding& holding) {
      return can_offer(holding, point) && std::ranges::binary_search(holding.units, unit);
    });
  });
}

// Describes all holdings of one moment: the newest generation that trained from it, and whether all workers of that
// generation have gradients.
struct Frontier {
  std::int64_t confirmed = 0;
  bool all_have_gradients = true;

  void add(const StateVersion& version) {
    if (version.confirmed < confirmed) return;
    if (version.confirmed > confirmed) *this = {.confirmed = version.confirmed, .all_have_gradients = true};
    all_have_gradients = all_have_gradients && version.has_gradients;
  }
};

std::map<Moment, Frontier> frontiers(const std::vector<Holding>& holdings) {
  std::map<Moment, Frontier> found;
  for (const Holding& holding : holdings) {
    if (holds_any(holding)) found[moment_of(holding)].add(holding.version);
  }
  return found;
}

// Returns every point that some worker could offer, the newest first.
std::vector<ResumePoint> candidates(const std::vector<Holding>& holdings) {
  std::set<ResumePoint, std::greater<>> points;
  for (const auto& [moment, frontier] : frontiers(holdings)) {
    points.insert({frontier.confirmed, moment.first, moment.second});
    if (frontier.all_have_gradients) points.insert({frontier.confirmed, moment.first + 1, frontier.confirmed});
  }
  return {points.begin(), points.end()};
}

}  // namespace

std::string to_line(const Holding& holding) {
  return nlohmann::json{{"step", holding.version.step},
                        {"hasGradients", holding.version.has_gradients},
                        {"updatedBy", holding.version.updated_by},
                        {"confirmed", holding.version.confirmed},
                        {"loss", holding.loss},
                        {"nextLoss", holding.next_loss},
                        {"reached", holding.reached},
                        {"firstLoss", holding.first_loss},
                        {"stoppedSeconds", holding.stopped_seconds}}
      .dump();
}

Result<Holding> holding_from_line(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  JsonReader reader(json, "holding");
  Holding holding{.version = {.updated_by = reader.required<std::int64_t>("updatedBy"),
                              .step = reader.required<std::int64_t>("step"),
                              .confirmed = reader.required<std::int64_t>("confirmed"),
                              .has_gradients = reader.required<bool>("hasGradients")},
                  .units = {},
                  .loss = reader.required<double>("loss"),
                  .next_loss = reader.required<double>("nextLoss"),
                  .reached = reader.required<std::int64_t>("reached"),
                  .first_loss = reader.required<double>("firstLoss"),
                  .stopped_seconds = reader.required<double>("stoppedSeconds")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return holding;
}

bool can_offer(const Holding& holding, const ResumePoint& point) {
  if (!holds_any(holding)) return false;
  const StateVersion& version = holding.version;
  if (version.step == point.step) return version.updated_by == point.updated_by;
  return version.step + 1 == point.step && version.has_gradients && version.confirmed == point.updated_by;
}

std::optional<ResumePoint> resume_point(const std::vector<int>& all_units, const std::vector<Holding>& holdings) {
  for (const ResumePoint& point : candidates(holdings)) {
    if (is_complete(all_units, holdings, point)) return point;
  }
  return std::nullopt;
}

std::vector<std::vector<int>> offers(const std::vector<Holding>& holdings, const ResumePoint& point) {
  std::vector<std::vector<int>> lists;
  for (const Holding& holding : holdings) {
    lists.push_back(can_offer(holding, point) ? holding.units : std::vector<int>{});
  }
  return lists;
}

std::int64_t steps_lost(const std::vector<Holding>& holdings, std::int64_t resumed_step) {
  std::int64_t reached = resumed_step;
  for (const Holding& holding : holdings) reached = std::max(reached, holding.reached);
  return reached - resumed_step;
}

}  // namespace sailor::trainer
