// World: three workers, one a pod, an operator, and all messages between them, as one small value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer::exploration {

inline constexpr int kWorkers = 3;
inline constexpr int kUnits = 2;        // of the state, as bits of a mask
inline constexpr int kGenerations = 8;  // table's size; how many there are follows from changes and faults
inline constexpr int kLastStep = 2;     // that a history can have

using Mask = std::uint8_t;  // of workers, or of units

inline constexpr Mask kAllUnits = (1U << kUnits) - 1;

inline bool has(Mask mask, int bit) { return (mask >> bit & 1U) != 0; }
inline void put(Mask& mask, int bit) { mask = static_cast<Mask>(mask | 1U << bit); }
inline void remove(Mask& mask, int bit) { mask = static_cast<Mask>(mask & ~(1U << bit)); }

// What a generation's members have told each other. Messages stay here after their sender is gone: that is delay.
struct Meeting {
  std::array<std::uint16_t, kWorkers> holdings{};  // packed
  Mask members = 0;                                // with a slot
  std::array<Mask, kWorkers> roles{};              // units by worker; 0: it leaves
  Mask published = 0;                              // holdings in the store
  Mask met = 0;                                    // have sent what was asked of them
  Mask saved = 0;                                  // their shares of a checkpoint, where the generation parks
  Mask moved = 0;                                  // have all that they need
  std::array<std::uint8_t, kWorkers> computing{};  // newest step each has given its gradients to
  std::array<std::uint8_t, kWorkers> voting{};     // newest step each has voted for
  std::uint8_t picked = 0;                         // one more than the checkpoint's step that all load; 0: none yet
  std::uint8_t leaving = 0;                        // step at whose vote somebody asked to leave; 0: none
  std::uint8_t waiting = 0;                        // newest step at whose vote somebody waited for followers; 0: none
  std::array<Mask, kWorkers> fed{};                // units that each follower was sent, with a step that counts
  std::uint8_t fed_step = 0;                       // that step
  std::uint8_t fed_by = 0;                         // and the generation whose it is
  std::uint8_t is_cut = 0;                         // a connection of it broke
  std::uint8_t has_finished_late = 0;              // a step, after a newer generation had begun to train
  friend bool operator==(const Meeting&, const Meeting&) = default;
};

struct Worker {
  Place place = Place::kIdle;
  std::uint8_t generation = 0;
  std::uint8_t has_role = 0;
  std::uint8_t step = 0;
  std::uint8_t has_gradients = 0;
  std::uint8_t next = 0;
  std::uint8_t next_is_prepared = 0;
  std::uint8_t follows = 0;  // is at the meeting, and has not said yet what it holds
  std::uint8_t updated_by = 0;
  std::uint8_t confirmed = 0;
  Mask units = 0;
  friend bool operator==(const Worker&, const Worker&) = default;
};

// What has been applied by anybody, dead or alive: written down to be checked, read by no rule.
struct History {
  std::uint8_t newest_confirmed = 0;                  // generation
  std::array<std::uint8_t, kLastStep + 1> applied{};  // generation by step; 0: not applied
  friend bool operator==(const History&, const History&) = default;
};

struct World {
  std::array<Worker, kWorkers> workers;
  std::array<Meeting, kGenerations> meetings;
  History history;
  std::uint8_t faults = 0;        // so far
  std::uint8_t issued = 0;        // the operator's: highest number that a generation was given
  std::uint8_t record = 0;        // newest generation written down
  std::uint8_t sealed = 0;        // newest that agents may be told of
  std::uint8_t is_voluntary = 0;  // the newest is not sealed, and the one before it trains on meanwhile
  std::uint8_t parks = 0;         // nobody has a role in the newest
  std::uint8_t change = 0;        // planned changes so far; says which plan is wanted
  std::uint8_t parkings = 0;      // so far
  std::uint8_t withdrawals = 0;   // so far
  std::uint8_t checkpoint = 0;    // step of the newest complete one
  Mask crashed = 0;
  Mask suspected = 0;     // by the operator: cut off from it, perhaps frozen
  Mask leased = 0;        // the worker's lease holds
  Mask stale = 0;         // was not there when the job was parked, and is not wanted any more
  Mask cut_paths = 0;     // between two workers, each named by the third
  Mask noticed = 0;       // of those, by the operator
  Mask out_of_reach = 0;  // answers the operator and not some peer, and is left out for it
  friend bool operator==(const World&, const World&) = default;
};

// How much may happen.
struct Limits {
  int changes = 0;  // of the plan
  int faults = 0;
  int steps = kLastStep;  // where the exploration of a history ends
  int parkings = 0;
  int withdrawals = 0;
  bool newcomers_follow = true;  // the training that goes on
  bool paths_break = false;      // between two workers that both answer the operator
};

World first_world();     // no worker has heard of anything yet
World training_world();  // two replicas are at their first step, the third worker is idle
World pipeline_world();  // two stages are, the third worker is idle
World lone_world();      // one worker is, with a lease; the others are idle

// Those who train in the one all have a slot in the next, to train or to leave, and newcomers train in it.
bool has_followers(const Meeting& next, const Meeting& running);
bool is_alone(const World& world, int generation);      // one worker has all roles
std::int64_t trains_on(const World& world);             // while the newest waits for its pods; 0: none
bool trains(const World& world, const Limits& limits);  // the newest does, or has come to the last step explored
std::string describe(const World& world);               // one line

}  // namespace sailor::trainer::exploration
