// JoinPlan: says which training worker streams which slices to which other worker while training continues. Before a
// planned change, a joining worker, which has no state yet, receives all its slices in this way, and a worker that
// trains already receives the slices that the next plan adds. The plan is a pure function without tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/transfer_units.h"

namespace sailor::trainer {

// What a worker reports about itself at the rendezvous when it starts to prepare a generation.
struct PreparationReport {
  std::int64_t trains = 0;  // the generation in which it still trains; 0: none
  bool is_empty = true;     // it has no state
  WorkerSlices held = {};   // the slices that it updates in each step; empty if it does not train
  // The host memory, in bytes, that it may use for what it receives while it trains. Nothing: no limit.
  std::optional<std::int64_t> room = {};
  friend bool operator==(const PreparationReport&, const PreparationReport&) = default;
};

std::string to_line(const PreparationReport& preparation_report);
Result<PreparationReport> preparation_report_from_line(const ModelSpec& model, const std::string& line);

// Slices of one layer state that one source sends to one receiver at once, about kStreamedElements of them. In the next
// generation the receiver either updates them or keeps them as a peer replica.
struct StreamedShard {
  int layer_state = 0;
  bool is_peer_replica = false;
  std::vector<Slice> slices;  // same order as in a message
  std::int64_t elements = 0;
  bool is_unique = false;  // no other worker that stays in the next generation has them, as peer replicas or otherwise
  friend bool operator==(const StreamedShard&, const StreamedShard&) = default;
};

// The size of a shard of a stream. An update waits while a shard is copied, which takes some milliseconds.
inline constexpr std::int64_t kStreamedElements = 2 << 20;

// What a receiver allocates for an element until the next generation starts: its state and its gradient.
inline constexpr std::int64_t kBytesOfStreamedElement = kBytesOfElement + std::int64_t{sizeof(float)};

struct PlannedStream {
  int source = 0;                     // rank in the generation that is prepared
  int receiver = 0;                   // rank in the generation that is prepared
  std::vector<StreamedShard> shards;  // the first one is sent first
  friend bool operator==(const PlannedStream&, const PlannedStream&) = default;
};

struct JoinPlan {
  std::int64_t generation = 0;  // the generation that trains meanwhile
  std::vector<PlannedStream> streams;
};

// The input of plan_joining().
struct JoinQuestion {
  std::vector<PreparationReport> preparation_reports;  // indexed by rank
  std::vector<WorkerSlices> wanted;                    // by rank: the slices that the rank has in the new plan
  std::vector<WorkerLocation> locations;               // indexed by rank
};

// Each worker that joins or trains receives all slices that it wants and does not hold, each slice from the nearest
// worker that updates it. Equally near sources share the load. A worker that holds state but does not train receives
// nothing, because its state may be outdated. Unique slices are sent first, then those that only one worker updates. A
// worker without room for all receives the first of them; the rest moves when training stops for the change.
// The result is the same on every worker.
JoinPlan plan_joining(const ModelSpec& model, const JoinQuestion& question);

// Returns true if the running generation should continue to train until the workers of the next one have received
// state. So it returns false if no worker joins or needs additional slices, or if the running generation cannot
// continue because the next one drops one of its workers.
bool streams_state(const Assignment& next, const Assignment& running);

}  // namespace sailor::trainer
