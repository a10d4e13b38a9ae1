// JoinPlan: before a planned change, joining workers receive their state while training continues. The plan says which
// worker sends which slices to which joining worker. It is a pure function without tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/transfer_units.h"

namespace sailor::trainer {

// What a worker reports about itself when it starts to prepare a generation.
struct PreparationState {
  std::int64_t trains = 0;  // the generation in which it still trains; 0: none
  bool is_empty = true;     // it has no state
  StateSlices own = {};     // what it updates, if it trains
  friend bool operator==(const PreparationState&, const PreparationState&) = default;
};

std::string to_line(const PreparationState& preparation_state);
Result<PreparationState> preparation_state_from_line(const ModelSpec& model, const std::string& line);

// The slices of one layer state that one source sends to one joining worker, to compute with or to keep as a peer
// replica.
struct StreamedShard {
  int layer_state = 0;
  bool is_peer_replica = false;
  std::vector<Slice> slices;  // in their order within a message
  std::int64_t elements = 0;
  friend bool operator==(const StreamedShard&, const StreamedShard&) = default;
};

struct PlannedStream {
  int source = 0;  // ranks of the generation that is prepared
  int joining_worker = 0;
  std::vector<StreamedShard> shards;  // in the order in which they are sent
  friend bool operator==(const PlannedStream&, const PlannedStream&) = default;
};

struct JoinPlan {
  std::int64_t generation = 0;  // the one that trains meanwhile
  std::vector<PlannedStream> streams;
};

struct JoinQuestion {
  std::vector<PreparationState> preparation_states;  // by rank
  std::vector<WorkerSlices> wanted;                  // by rank, in the new plan
  std::vector<WorkerLocation> locations;             // by rank
  bool is_urgent = false;  // a leaving worker may terminate before the joining workers are ready
};

// Each worker that will train and has no state yet receives all slices of its role, each from the nearest worker that
// updates it; the load is spread over equally near sources. An urgent change has no streams. The result is the same on
// every worker.
JoinPlan plan_joining(const ModelSpec& model, const JoinQuestion& question);

// True if the running generation should continue to train until the joining workers of the next one have their state.
bool has_joining_workers(const Assignment& next, const Assignment& running);

}  // namespace sailor::trainer
