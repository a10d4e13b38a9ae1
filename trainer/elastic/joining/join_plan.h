// JoinPlan: says which training worker streams which slices to which joining worker. A joining worker will train in the
// next generation and has no state yet. Before a planned change it receives its state while training continues. Workers
// that have state already receive additional slices only during the pause (protocol/transfers.h). The plan is a pure
// function without tensors.
#pragma once

#include <cstdint>
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
  StateSlices own = {};     // the slices that it updates; empty if it does not train
  friend bool operator==(const PreparationReport&, const PreparationReport&) = default;
};

std::string to_line(const PreparationReport& preparation_report);
Result<PreparationReport> preparation_report_from_line(const ModelSpec& model, const std::string& line);

// The slices of one layer state that one source sends to one joining worker. The joining worker either updates them or
// keeps them as a peer replica.
struct StreamedShard {
  int layer_state = 0;
  bool is_peer_replica = false;
  std::vector<Slice> slices;  // same order as in a message
  std::int64_t elements = 0;
  friend bool operator==(const StreamedShard&, const StreamedShard&) = default;
};

struct PlannedStream {
  int source = 0;                     // rank in the generation that is prepared
  int joining_worker = 0;             // rank in the generation that is prepared
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
  bool is_urgent = false;  // a leaving worker may terminate before the joining workers are ready
};

// Each joining worker receives all its slices, each slice from the nearest worker that updates it. Equally near sources
// share the load. An urgent change has no streams. The result is the same on every worker.
JoinPlan plan_joining(const ModelSpec& model, const JoinQuestion& question);

// Returns true if the running generation should continue to train until the joining workers of the next one have their
// state. So it returns false if no worker joins, if the change is urgent, or if the running generation cannot continue
// because the next one drops one of its workers.
bool has_joining_workers(const Assignment& next, const Assignment& running);

}  // namespace sailor::trainer
