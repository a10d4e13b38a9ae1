#include "trainer/elastic/joining/join_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trainer/elastic/protocol/command.h"

namespace sailor::trainer {
namespace {

// Of what they update, and who lacks it, both by rank.
struct Sides {
  std::vector<WorkerSlices> fed;
  std::vector<WorkerSlices> wanted;
};

Sides sides_of(const FollowQuestion& question, std::int64_t generation) {
  Sides sides;
  for (std::size_t rank = 0; rank < question.standings.size(); ++rank) {
    const Standing& standing = question.standings[rank];
    const bool feeds = standing.trains == generation;
    sides.fed.push_back(feeds ? WorkerSlices{.own = standing.own, .copies = {}} : WorkerSlices{});
    sides.wanted.push_back(standing.is_empty && !feeds ? question.wanted[rank] : WorkerSlices{});
  }
  return sides;
}

bool is_within(const TransferUnit& unit, const StateSlices& slices) {
  const auto found = slices.find(unit.layer_state);
  const Slice& first = unit.slices.front();
  return found != slices.end() && std::ranges::any_of(found->second, [&](const Slice& slice) {
           return slice.tensor == first.tensor && slice.begin <= first.begin && first.end <= slice.end;
         });
}

// Moves of the same layer state between the same two become one shard; in the order of feeders, followers and
// layer states.
std::vector<FollowStream> streams_of(const TransferUnits& units, const std::vector<UnitMove>& moves,
                                     const std::vector<WorkerSlices>& wanted) {
  std::map<std::tuple<int, int, int, bool>, StreamedShard> shards;
  for (const UnitMove& move : moves) {
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(move.unit)];
    const bool is_copy = !is_within(unit, wanted[static_cast<std::size_t>(move.to)].own);
    StreamedShard& shard = shards[{move.from, move.to, unit.layer_state, is_copy}];
    shard.layer_state = unit.layer_state;
    shard.is_copy = is_copy;
    shard.elements += unit.elements;
    shard.slices.insert(shard.slices.end(), unit.slices.begin(), unit.slices.end());
  }
  std::vector<FollowStream> streams;
  for (auto& [key, shard] : shards) {
    const auto& [feeder, follower, layer_state, is_copy] = key;
    const bool goes_on = !streams.empty() && streams.back().feeder == feeder && streams.back().follower == follower;
    if (!goes_on) streams.push_back({feeder, follower, {}});
    std::ranges::sort(shard.slices);
    streams.back().shards.push_back(std::move(shard));
  }
  return streams;
}

bool is_new(const Assignment& next, const WorkerSlot& slot, const Assignment& running) {
  if (!slot.role) return false;
  const auto before = slot_of(running, name_of(next, slot));
  return !before || !running.workers[static_cast<std::size_t>(*before)].role;
}

}  // namespace

std::string to_line(const Standing& standing) {
  return nlohmann::json{{"trains", standing.trains},
                        {"isEmpty", standing.is_empty},
                        {"own", nlohmann::json::parse(to_line(standing.own))}}
      .dump();
}

Result<Standing> standing_from_line(const ModelSpec& model, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const bool is_one = json.is_object() && json.contains("trains") && json["trains"].is_number_integer() &&
                      json.contains("isEmpty") && json["isEmpty"].is_boolean() && json.contains("own");
  if (!is_one)
    return fail(ErrorCode::kInvalidArgument, fmt::format("what a worker says it does is not understood: {}", line));
  auto own = state_slices_from_line(model, json["own"].dump());
  if (!own) return tl::unexpected(own.error());
  return Standing{.trains = json["trains"], .is_empty = json["isEmpty"], .own = *std::move(own)};
}

FollowPlan plan_following(const ModelSpec& model, const FollowQuestion& question) {
  FollowPlan plan;
  for (const Standing& standing : question.standings) plan.generation = std::max(plan.generation, standing.trains);
  if (plan.generation == 0 || question.is_urgent) return plan;
  const Sides sides = sides_of(question, plan.generation);
  const TransferUnits units(model, sides.fed, sides.wanted);
  TransferQuestion transfers{.wanted = {}, .offered = {}, .sites = question.sites, .bytes = {}};
  for (int rank = 0; rank < std::ssize(question.standings); ++rank) {
    transfers.wanted.push_back(units.wanted_by(rank));
    transfers.offered.push_back(units.held_by(rank));
  }
  for (const TransferUnit& unit : units.units()) transfers.bytes.push_back(unit.elements);
  plan.streams = streams_of(units, plan_transfers(transfers).moves, sides.wanted);
  return plan;
}

bool has_followers(const Assignment& next, const Assignment& running) {
  const bool somebody_is_new =
      std::ranges::any_of(next.workers, [&](const WorkerSlot& slot) { return is_new(next, slot, running); });
  return somebody_is_new && !next.is_urgent && !drops_a_peer(next, running);
}

}  // namespace sailor::trainer
