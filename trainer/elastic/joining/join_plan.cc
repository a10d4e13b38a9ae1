#include "trainer/elastic/joining/join_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trainer/elastic/protocol/command.h"
#include "trainer/elastic/state/peer_replicas.h"

namespace sailor::trainer {
namespace {

// The slices that each worker has, and those that it should have before training stops; both by rank.
struct Sides {
  std::vector<WorkerSlices> held;
  std::vector<WorkerSlices> wanted;
};

Sides sides_of(const JoinQuestion& question, std::int64_t generation) {
  Sides sides;
  for (std::size_t rank = 0; rank < question.preparation_reports.size(); ++rank) {
    const PreparationReport& report = question.preparation_reports[rank];
    const bool trains = report.trains == generation;
    sides.held.push_back(trains ? report.held : WorkerSlices{});
    sides.wanted.push_back(trains || report.is_empty ? question.wanted[rank] : WorkerSlices{});
  }
  return sides;
}

std::vector<int> without(const std::vector<int>& ids, const std::vector<int>& others) {
  std::vector<int> rest;
  std::ranges::set_difference(ids, others, std::back_inserter(rest));
  return rest;
}

bool contains(const StateSlices& all, int layer_state, const Slice& slice) {
  const auto found = all.find(layer_state);
  return found != all.end() && std::ranges::any_of(found->second, [&](const Slice& other) {
           return slice.tensor == other.tensor && other.begin <= slice.begin && slice.end <= other.end;
         });
}

bool contains(const StateSlices& all, const StateSlices& some) {
  return std::ranges::all_of(some, [&](const auto& entry) {
    const auto& [layer_state, slices] = entry;
    return std::ranges::all_of(slices, [&, id = layer_state](const Slice& slice) { return contains(all, id, slice); });
  });
}

// Divides slices of a layer state into shards of about kStreamedElements.
std::vector<StreamedShard> shards_of(const StateLayout& whole, const std::vector<Slice>& slices, bool is_peer_replica,
                                     bool is_unique) {
  const StreamedShard none{whole.id, is_peer_replica, {}, 0, is_unique};
  std::vector<StreamedShard> shards = {none};
  for (const Slice& slice : slices) {
    const int parts = static_cast<int>(1 + size_of(whole, slice) / kStreamedElements);
    for (int part = 0; part < parts; ++part) {
      const Slice piece = subslice(slice, part, parts);
      if (piece.begin == piece.end) continue;
      if (shards.back().elements >= kStreamedElements) shards.push_back(none);
      shards.back().slices.push_back(piece);
      shards.back().elements += size_of(whole, piece);
    }
  }
  return shards;
}

// The number of workers that have each unit. `held` has the ids of the units of each worker.
std::vector<int> copies_of(const TransferUnits& units, const std::vector<std::vector<int>>& held) {
  std::vector<int> copies(units.units().size());
  for (const std::vector<int>& ids : held) {
    for (const int id : ids) ++copies[static_cast<std::size_t>(id)];
  }
  return copies;
}

bool stays(const WorkerSlices& wanted) { return wanted != WorkerSlices{}; }

// The number of workers that have each unit, as a peer replica or otherwise, and stay in the next generation.
std::vector<int> staying_copies_of(const TransferUnits& units, const std::vector<WorkerSlices>& wanted) {
  std::vector<std::vector<int>> held;
  for (int rank = 0; rank < std::ssize(wanted); ++rank) {
    if (stays(wanted[static_cast<std::size_t>(rank)])) held.push_back(units.held_by(rank));
  }
  return copies_of(units, held);
}

// Combines the moves of one layer state between the same two workers. The result is ordered by source and receiver,
// then the unique slices come first, and of the others those that only one worker has.
std::vector<PlannedStream> streams_of(const TransferUnits& units, const std::vector<UnitMove>& moves,
                                      const std::vector<int>& copies, const std::vector<WorkerSlices>& wanted) {
  std::map<std::tuple<int, int, bool, bool, int, bool>, std::vector<Slice>> moved;
  const std::vector<int> staying = staying_copies_of(units, wanted);
  for (const UnitMove& move : moves) {
    const int own_copy = stays(wanted[static_cast<std::size_t>(move.from)]) ? 1 : 0;
    const bool is_elsewhere = staying[static_cast<std::size_t>(move.unit)] > own_copy;
    const TransferUnit& unit = units.units()[static_cast<std::size_t>(move.unit)];
    const bool has_copies = copies[static_cast<std::size_t>(move.unit)] > 1;
    const StateSlices& own = wanted[static_cast<std::size_t>(move.to)].own;
    const bool is_peer_replica = !contains(own, unit.layer_state, unit.slices.front());
    std::ranges::copy(
        unit.slices,
        std::back_inserter(moved[{move.from, move.to, is_elsewhere, has_copies, unit.layer_state, is_peer_replica}]));
  }
  std::vector<PlannedStream> streams;
  for (auto& [key, slices] : moved) {
    const auto& [source, receiver, is_elsewhere, has_copies, layer_state, is_peer_replica] = key;
    const bool goes_on = !streams.empty() && streams.back().source == source && streams.back().receiver == receiver;
    if (!goes_on) streams.push_back({source, receiver, {}});
    std::ranges::sort(slices);
    std::ranges::copy(shards_of(layout_of(units.model(), layer_state), slices, is_peer_replica, !is_elsewhere),
                      std::back_inserter(streams.back().shards));
  }
  return streams;
}

// Removes the shards for which their receiver has no room. Unique ones get the room first.
void keep_what_has_room(const std::vector<PreparationReport>& reports, std::vector<PlannedStream>& streams) {
  std::vector<std::optional<std::int64_t>> room;
  room.reserve(reports.size());
  for (const PreparationReport& report : reports) room.push_back(report.room);
  const auto takes = [&](int receiver, const StreamedShard& shard) {
    auto& left = room[static_cast<std::size_t>(receiver)];
    const std::int64_t bytes = shard.elements * kBytesOfStreamedElement;
    if (left && *left < bytes) return false;
    if (left) *left -= bytes;
    return true;
  };
  for (const bool is_unique : {true, false}) {
    for (PlannedStream& stream : streams) {
      std::erase_if(stream.shards, [&, receiver = stream.receiver](const StreamedShard& shard) {
        return shard.is_unique == is_unique && !takes(receiver, shard);
      });
    }
  }
  std::erase_if(streams, [](const PlannedStream& stream) { return stream.shards.empty(); });
}

// The slices of the worker in this generation; none if it does not train in it.
WorkerSlices slices_of(const Assignment& assignment, const Roster& roster,
                       const std::vector<PeerReplica>& peer_replicas, const WorkerName& worker) {
  const auto rank = rank_of(assignment, worker);
  return rank ? worker_slices(roster, peer_replicas, *rank) : WorkerSlices{};
}

StateSlices merged(const WorkerSlices& worker) {
  StateSlices all = worker.own;
  for (const auto& [layer_state, slices] : worker.peer_replicas) {
    std::ranges::copy(slices, std::back_inserter(all[layer_state]));
  }
  for (auto& [layer_state, slices] : all) slices = neighbours_joined(std::move(slices));
  return all;
}

}  // namespace

std::string to_line(const PreparationReport& preparation_report) {
  nlohmann::json json = {{"trains", preparation_report.trains},
                         {"isEmpty", preparation_report.is_empty},
                         {"own", nlohmann::json::parse(to_line(preparation_report.held.own))},
                         {"peerReplicas", nlohmann::json::parse(to_line(preparation_report.held.peer_replicas))}};
  if (preparation_report.room) json["room"] = *preparation_report.room;
  return json.dump();
}

Result<PreparationReport> preparation_report_from_line(const ModelSpec& model, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const bool is_one = json.is_object() && json.contains("trains") && json["trains"].is_number_integer() &&
                      json.contains("isEmpty") && json["isEmpty"].is_boolean() && json.contains("own") &&
                      json.contains("peerReplicas") && (!json.contains("room") || json["room"].is_number_integer());
  if (!is_one)
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot parse the preparation report of a worker: {}", line));
  auto own = state_slices_from_line(model, json["own"].dump());
  if (!own) return tl::unexpected(own.error());
  auto peer_replicas = state_slices_from_line(model, json["peerReplicas"].dump());
  if (!peer_replicas) return tl::unexpected(peer_replicas.error());
  const auto room = json.contains("room") ? std::optional(json["room"].get<std::int64_t>()) : std::nullopt;
  return PreparationReport{.trains = json["trains"],
                           .is_empty = json["isEmpty"],
                           .held = {*std::move(own), *std::move(peer_replicas)},
                           .room = room};
}

JoinPlan plan_joining(const ModelSpec& model, const JoinQuestion& question) {
  JoinPlan plan;
  for (const PreparationReport& preparation_report : question.preparation_reports)
    plan.generation = std::max(plan.generation, preparation_report.trains);
  if (plan.generation == 0) return plan;
  const Sides sides = sides_of(question, plan.generation);
  const TransferUnits units(model, sides.held, sides.wanted);
  TransferQuestion transfers{.wanted = {}, .offered = {}, .locations = question.locations, .bytes = {}};
  for (int rank = 0; rank < std::ssize(question.preparation_reports); ++rank) {
    transfers.wanted.push_back(without(units.wanted_by(rank), units.held_by(rank)));
    transfers.offered.push_back(without(units.held_by(rank), units.replicated_by(rank)));
  }
  for (const TransferUnit& unit : units.units()) transfers.bytes.push_back(unit.elements);
  plan.streams = streams_of(units, plan_transfers(transfers).moves, copies_of(units, transfers.offered), sides.wanted);
  keep_what_has_room(question.preparation_reports, plan.streams);
  return plan;
}

bool streams_state(const Assignment& next, const Assignment& running) {
  if (next.releases_gpus || drops_a_peer(next, running)) return false;
  const Roster roster(next), running_roster(running);
  const auto peer_replicas = plan_peer_replicas(next, roster);
  const auto running_peer_replicas = plan_peer_replicas(running, running_roster);
  return std::ranges::any_of(next.workers, [&](const WorkerSlot& slot) {
    const WorkerName name = name_of(next, slot);
    return !contains(merged(slices_of(running, running_roster, running_peer_replicas, name)),
                     merged(slices_of(next, roster, peer_replicas, name)));
  });
}

}  // namespace sailor::trainer
