// FollowPlan: which newcomers of a planned change follow the training that goes on meanwhile, and who feeds them. Pure,
// without tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/transfer_units.h"

namespace sailor::trainer {

// What a worker says of itself when it begins to prepare a generation.
struct Standing {
  std::int64_t trains = 0;  // the generation that it trains in meanwhile; 0: none
  bool is_empty = true;     // it holds no state
  StateSlices own = {};     // that it updates, if it trains
  friend bool operator==(const Standing&, const Standing&) = default;
};

std::string to_line(const Standing& standing);
Result<Standing> standing_from_line(const ModelSpec& model, const std::string& line);

// Of a layer state, what one feeder hands one follower: to compute with, or to keep as a copy.
struct StreamedShard {
  int layer_state = 0;
  bool is_copy = false;
  std::vector<Slice> slices;  // in the order in which a message has them
  std::int64_t elements = 0;
  friend bool operator==(const StreamedShard&, const StreamedShard&) = default;
};

struct FollowStream {
  int feeder = 0;  // ranks of the generation that is prepared
  int follower = 0;
  std::vector<StreamedShard> shards;  // in the order in which they are handed out
  friend bool operator==(const FollowStream&, const FollowStream&) = default;
};

struct FollowPlan {
  std::int64_t generation = 0;  // whose training is followed
  std::vector<FollowStream> streams;
};

struct FollowQuestion {
  std::vector<Standing> standings;   // by rank
  std::vector<WorkerSlices> wanted;  // by rank, in the new plan
  std::vector<Site> sites;           // by rank
  bool is_urgent = false;            // somebody who leaves may be gone before the followers are there
};

// Whoever is to train and holds nothing yet follows all that it will hold, each slice from the nearest who updates it,
// the load spread. Nobody does where the change is urgent. The same answer on every worker.
FollowPlan plan_following(const ModelSpec& model, const FollowQuestion& question);

// Whether the next generation has newcomers whom those of the running one should wait for while they train on.
bool has_followers(const Assignment& next, const Assignment& running);

}  // namespace sailor::trainer
