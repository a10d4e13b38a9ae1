#include "trainer/elastic/holding.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "planner/model/check.h"
#include "planner/model/json_reader.h"

namespace sailor::trainer {
namespace {

bool contains(const std::vector<int>& sorted, int value) { return std::ranges::binary_search(sorted, value); }

// Every piece is offered by somebody.
bool is_complete(const Roster& roster, const std::vector<Holding>& holdings, const ResumePoint& point) {
  return std::ranges::all_of(roster.pieces(), [&](int piece) {
    return std::ranges::any_of(
        holdings, [&](const Holding& holding) { return can_offer(holding, point) && contains(holding.pieces, piece); });
  });
}

// 0 in the same pod, then zone, region, elsewhere.
int distance(const Assignment& assignment, int a, int b) {
  const int agent_a = assignment.workers.at(static_cast<std::size_t>(a)).agent;
  const int agent_b = assignment.workers.at(static_cast<std::size_t>(b)).agent;
  if (agent_a == agent_b) return 0;
  const Zone& zone_a = assignment.agents.at(static_cast<std::size_t>(agent_a)).pool.zone;
  const Zone& zone_b = assignment.agents.at(static_cast<std::size_t>(agent_b)).pool.zone;
  if (zone_a == zone_b) return 1;
  return region_of(zone_a) == region_of(zone_b) ? 2 : 3;
}

std::vector<int> offerers_of(int piece, const std::vector<Holding>& holdings, const ResumePoint& point) {
  std::vector<int> ranks;
  for (int rank = 0; rank < std::ssize(holdings); ++rank) {
    const Holding& holding = holdings[static_cast<std::size_t>(rank)];
    if (can_offer(holding, point) && contains(holding.pieces, piece)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::string to_line(const Holding& holding) {
  return nlohmann::json{{"pieces", holding.pieces},
                        {"step", holding.step},
                        {"hasGradients", holding.has_gradients},
                        {"squaredNorm", holding.squared_norm},
                        {"reached", holding.reached},
                        {"firstLoss", holding.first_loss}}
      .dump();
}

Result<Holding> holding_from_line(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  JsonReader reader(json, "holding");
  Holding holding{.pieces = reader.required<std::vector<int>>("pieces"),
                  .step = reader.required<std::int64_t>("step"),
                  .has_gradients = reader.required<bool>("hasGradients"),
                  .squared_norm = reader.required<double>("squaredNorm"),
                  .reached = reader.required<std::int64_t>("reached"),
                  .first_loss = reader.required<double>("firstLoss")};
  if (reader.error()) return tl::unexpected(*reader.error());
  return holding;
}

bool can_offer(const Holding& holding, const ResumePoint& point) {
  if (holding.pieces.empty()) return false;
  return holding.step == point.step || (holding.has_gradients && holding.step + 1 == point.step);
}

std::optional<ResumePoint> resume_point(const Roster& roster, const std::vector<Holding>& holdings) {
  std::map<std::int64_t, ResumePoint, std::greater<>> candidates;  // newest first
  for (const Holding& holding : holdings) {
    if (!holding.pieces.empty()) candidates.try_emplace(holding.step, ResumePoint{holding.step, holding.squared_norm});
  }
  for (const auto& [step, point] : candidates) {
    if (is_complete(roster, holdings, point)) return point;
  }
  return std::nullopt;
}

std::vector<Move> moves(const Assignment& assignment, const Roster& roster, const std::vector<Holding>& holdings,
                        const ResumePoint& point) {
  std::vector<Move> list;
  std::map<int, int> sends;  // by rank
  for (int rank = 0; rank < roster.workers(); ++rank) {
    for (const int piece : roster.pieces_of(rank)) {
      const std::vector<int> offerers = offerers_of(piece, holdings, point);
      SAILOR_CHECK(!offerers.empty(), "nobody offers piece {} of step {}", piece, point.step);
      if (contains(offerers, rank)) continue;
      const int from = *std::ranges::min_element(offerers, {}, [&](int offerer) {
        return std::tuple(distance(assignment, offerer, rank), sends[offerer], offerer);
      });
      ++sends[from];
      list.push_back({.piece = piece, .from = from, .to = rank});
    }
  }
  return list;
}

std::int64_t steps_lost(const std::vector<Holding>& holdings, std::int64_t resumed_step) {
  std::int64_t reached = resumed_step;
  for (const Holding& holding : holdings) reached = std::max(reached, holding.reached);
  return reached - resumed_step;
}

}  // namespace sailor::trainer
