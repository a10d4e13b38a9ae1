// World: a state of the explored system as one small value: three workers in a pod each, an operator, and all messages
// between them.
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

// What the members of a generation have told each other. Messages stay here after their sender is gone, as delayed
// ones.
struct Rendezvous {
  std::array<std::uint16_t, kWorkers> holdings{};  // packed
  Mask members = 0;                                // with a slot
  std::array<Mask, kWorkers> roles{};              // units by worker; 0: it leaves
  Mask published = 0;                              // holdings in the store
  Mask met = 0;                                    // have sent what was asked of them
  Mask saved = 0;                                  // their shards of a checkpoint, if the generation releases its GPUs
  Mask moved = 0;                                  // have all that they need
  std::array<std::uint8_t, kWorkers> computing{};  // newest step each has given its gradients to
  std::array<std::uint8_t, kWorkers> voting{};     // newest step each has voted for
  std::uint8_t chosen_checkpoint = 0;              // one more than the checkpoint's step that all load; 0: none yet
  std::uint8_t leaving = 0;                        // step at whose vote somebody asked to leave; 0: none
  std::uint8_t waiting = 0;               // newest step at whose vote somebody waited for joining workers; 0: none
  std::array<Mask, kWorkers> streamed{};  // units that each joining worker was sent, with a step that counts
  std::uint8_t streamed_step = 0;         // that step
  std::uint8_t streamed_by = 0;           // the generation of that step
  std::uint8_t is_disconnected = 0;       // one of its connections broke
  std::uint8_t has_finished_late = 0;     // a step, after a newer generation had begun to train
  friend bool operator==(const Rendezvous&, const Rendezvous&) = default;
};

struct Worker {
  WorkerPlace place = WorkerPlace::kIdle;
  std::uint8_t generation = 0;
  std::uint8_t has_role = 0;
  std::uint8_t step = 0;
  std::uint8_t has_gradients = 0;
  std::uint8_t next = 0;
  std::uint8_t next_is_prepared = 0;
  std::uint8_t is_streaming = 0;  // is at the rendezvous and has not reported its holding yet
  std::uint8_t updated_by = 0;
  std::uint8_t confirmed = 0;
  Mask units = 0;
  friend bool operator==(const Worker&, const Worker&) = default;
};

// The updates that any worker has applied, dead or alive. Only invariants read it, not rules.
struct History {
  std::uint8_t newest_confirmed = 0;                  // generation
  std::array<std::uint8_t, kLastStep + 1> applied{};  // generation by step; 0: not applied
  friend bool operator==(const History&, const History&) = default;
};

struct World {
  std::array<Worker, kWorkers> workers;
  std::array<Rendezvous, kGenerations> rendezvous_of;
  History history;
  std::uint8_t faults = 0;     // so far
  std::uint8_t issued = 0;     // by the operator: the highest generation number used
  std::uint8_t record = 0;     // the newest recorded generation
  std::uint8_t committed = 0;  // the newest generation that agents may be told of
  // The membership of the newest is not committed, and the previous generation still trains.
  std::uint8_t is_voluntary = 0;
  std::uint8_t releases_gpus = 0;  // nobody has a role in the newest
  std::uint8_t change = 0;         // planned changes so far; says which plan is wanted
  std::uint8_t releases = 0;       // so far
  std::uint8_t withdrawals = 0;    // so far
  std::uint8_t checkpoint = 0;     // step of the newest complete one
  Mask crashed = 0;
  Mask suspected = 0;     // by the operator: partitioned from it, perhaps frozen
  Mask leased = 0;        // the worker's lease holds
  Mask stale = 0;         // was absent when the job released its GPUs, so its state is outdated
  Mask broken_paths = 0;  // between two workers, each named by the third
  Mask noticed = 0;       // of those, by the operator
  Mask unreachable = 0;   // answers the operator but not some peer, and is left out therefore
  friend bool operator==(const World&, const World&) = default;
};

// How much may happen.
struct Limits {
  int changes = 0;  // of the plan
  int faults = 0;
  int steps = kLastStep;  // where the exploration of a history ends
  int releases = 0;
  int withdrawals = 0;
  bool state_is_streamed = true;  // the training that goes on
  bool paths_break = false;       // between two workers that both answer the operator
};

World first_world();     // no worker has heard of anything yet
World training_world();  // two replicas are at their first step, the third worker is idle
World pipeline_world();  // two stages are, the third worker is idle
World lone_world();      // one worker is, with a lease; the others are idle

// Those who train in the one all have a slot in the next, to train or to leave, and joining workers train in it.
bool has_joining_workers(const Rendezvous& next, const Rendezvous& running);
bool is_alone(const World& world, int generation);      // one worker has all roles
std::int64_t trains_on(const World& world);             // while the newest waits for its pods; 0: none
bool trains(const World& world, const Limits& limits);  // the newest does, or has come to the last step explored
std::string describe(const World& world);               // one line

}  // namespace sailor::trainer::exploration
