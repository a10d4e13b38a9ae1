#include "trainer/elastic/joining/join_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trainer/elastic/protocol/command.h"

namespace sailor::trainer {
namespace {

// The slices that each worker can send, and those that it needs; both by rank.
struct Sides {
  std::vector<WorkerSlices> sent;
  std::vector<WorkerSlices> wanted;
};

Sides sides_of(const JoinQuestion& question, std::int64_t generation) {
  Sides sides;
  for (std::size_t rank = 0; rank < question.preparation_reports.size(); ++rank) {
    const PreparationReport& preparation_report = question.preparation_reports[rank];
    const bool is_source = preparation_report.trains == generation;
    sides.sent.push_back(is_source ? WorkerSlices{.own = preparation_report.own, .peer_replicas = {}} : WorkerSlices{});
    sides.wanted.push_back(preparation_report.is_empty && !is_source ? question.wanted[rank] : WorkerSlices{});
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

// Combines the moves of one layer state between the same two workers into one shard. The result is ordered by source,
// joining worker and layer state.
std::vector<PlannedStream> streams_of(const TransferUnits& units, const std::vector<UnitMove>& moves,
                                      const std::vector<WorkerSlices>& wanted) {
  std::map<std::tuple<int, int, int, bool>, StreamedShard> shards;
  for (const UnitMove& move : moves) {
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(move.unit)];
    const bool is_peer_replica = !is_within(unit, wanted[static_cast<std::size_t>(move.to)].own);
    StreamedShard& shard = shards[{move.from, move.to, unit.layer_state, is_peer_replica}];
    shard.layer_state = unit.layer_state;
    shard.is_peer_replica = is_peer_replica;
    shard.elements += unit.elements;
    shard.slices.insert(shard.slices.end(), unit.slices.begin(), unit.slices.end());
  }
  std::vector<PlannedStream> streams;
  for (auto& [key, shard] : shards) {
    const auto& [source, joining_worker, layer_state, is_peer_replica] = key;
    const bool goes_on =
        !streams.empty() && streams.back().source == source && streams.back().joining_worker == joining_worker;
    if (!goes_on) streams.push_back({source, joining_worker, {}});
    std::ranges::sort(shard.slices);
    streams.back().shards.push_back(std::move(shard));
  }
  return streams;
}

bool is_new(const Assignment& next, const WorkerSlot& slot, const Assignment& running) {
  if (!slot.role) return false;
  const auto before = rank_of(running, name_of(next, slot));
  return !before || !running.workers[static_cast<std::size_t>(*before)].role;
}

}  // namespace

std::string to_line(const PreparationReport& preparation_report) {
  return nlohmann::json{{"trains", preparation_report.trains},
                        {"isEmpty", preparation_report.is_empty},
                        {"own", nlohmann::json::parse(to_line(preparation_report.own))}}
      .dump();
}

Result<PreparationReport> preparation_report_from_line(const ModelSpec& model, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const bool is_one = json.is_object() && json.contains("trains") && json["trains"].is_number_integer() &&
                      json.contains("isEmpty") && json["isEmpty"].is_boolean() && json.contains("own");
  if (!is_one)
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot parse the preparation report of a worker: {}", line));
  auto own = state_slices_from_line(model, json["own"].dump());
  if (!own) return tl::unexpected(own.error());
  return PreparationReport{.trains = json["trains"], .is_empty = json["isEmpty"], .own = *std::move(own)};
}

JoinPlan plan_joining(const ModelSpec& model, const JoinQuestion& question) {
  JoinPlan plan;
  for (const PreparationReport& preparation_report : question.preparation_reports)
    plan.generation = std::max(plan.generation, preparation_report.trains);
  if (plan.generation == 0 || question.is_urgent) return plan;
  const Sides sides = sides_of(question, plan.generation);
  const TransferUnits units(model, sides.sent, sides.wanted);
  TransferQuestion transfers{.wanted = {}, .offered = {}, .locations = question.locations, .bytes = {}};
  for (int rank = 0; rank < std::ssize(question.preparation_reports); ++rank) {
    transfers.wanted.push_back(units.wanted_by(rank));
    transfers.offered.push_back(units.held_by(rank));
  }
  for (const TransferUnit& unit : units.units()) transfers.bytes.push_back(unit.elements);
  plan.streams = streams_of(units, plan_transfers(transfers).moves, sides.wanted);
  return plan;
}

bool has_joining_workers(const Assignment& next, const Assignment& running) {
  const bool somebody_is_new =
      std::ranges::any_of(next.workers, [&](const WorkerSlot& slot) { return is_new(next, slot, running); });
  return somebody_is_new && !next.is_urgent && !drops_a_peer(next, running);
}

}  // namespace sailor::trainer
