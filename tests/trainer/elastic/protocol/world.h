// World: a state of the explored system as one small value: three workers in a pod each, an operator, and all messages
// between them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer::exploration {

inline constexpr int kWorkers = 3;
inline constexpr int kUnits = 2;        // transfer units of the state, as bits of a mask
inline constexpr int kGenerations = 8;  // the size of the table; their number depends on changes and faults
inline constexpr int kLastStep = 2;     // the last step of a history

using Mask = std::uint8_t;  // one bit per worker, or per unit

inline constexpr Mask kAllUnits = (1U << kUnits) - 1;

inline bool has(Mask mask, int bit) { return (mask >> bit & 1U) != 0; }
inline void put(Mask& mask, int bit) { mask = static_cast<Mask>(mask | 1U << bit); }
inline void remove(Mask& mask, int bit) { mask = static_cast<Mask>(mask & ~(1U << bit)); }

// Everything that the members of a generation have sent each other. The messages of a sender that is gone stay here, as
// delayed messages.
struct Rendezvous {
  std::array<std::uint16_t, kWorkers> state_reports{};  // packed
  Mask members = 0;                                     // workers that take part
  std::array<Mask, kWorkers> roles{};                   // units by worker; 0: the worker leaves
  Mask published = 0;                                   // members whose state reports are in the store
  Mask met = 0;                                         // members that have sent what was asked of them
  Mask saved = 0;  // members that have saved their shards of a checkpoint, if the generation releases its GPUs
  Mask moved = 0;  // members that have all state of their role
  std::array<std::uint8_t, kWorkers> computing{};  // the newest step to whose gradients each has contributed
  std::array<std::uint8_t, kWorkers> voting{};     // the newest step that each has voted for
  std::uint8_t chosen_checkpoint = 0;     // one more than the step of the checkpoint that all load; 0: none yet
  std::uint8_t leaving = 0;               // the step at whose vote a worker asked to leave; 0: none
  std::uint8_t waiting = 0;               // the newest step at whose vote a worker waited for joining workers; 0: none
  std::array<Mask, kWorkers> streamed{};  // the units that were sent to each worker, of the newest step that was sent
  std::uint8_t streamed_step = 0;         // that step
  std::uint8_t streamed_by = 0;           // the generation that trained
  std::uint8_t streamed_updated_by = 0;   // the generation that made the last update of that step
  std::uint8_t is_final = 0;              // all workers of that generation agreed to end it after that step
  std::uint8_t is_disconnected = 0;       // one of the connections of the generation broke
  std::uint8_t has_finished_late = 0;     // it finished a step after a newer generation had begun to train
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
  std::uint8_t is_streaming = 0;  // is at the rendezvous and has not sent its state report yet
  std::uint8_t updated_by = 0;
  std::uint8_t confirmed = 0;
  std::uint8_t may_be_behind = 0;
  Mask units = 0;
  friend bool operator==(const Worker&, const Worker&) = default;
};

// The updates that any worker has applied, dead or alive. Invariants read it, rules do not.
struct History {
  std::uint8_t newest_confirmed = 0;                  // generation
  std::array<std::uint8_t, kLastStep + 1> applied{};  // generation by step; 0: not applied
  friend bool operator==(const History&, const History&) = default;
};

struct World {
  std::array<Worker, kWorkers> workers;
  std::array<Rendezvous, kGenerations> rendezvous_of;
  History history;
  std::uint8_t faults = 0;     // the number of faults so far
  std::uint8_t issued = 0;     // the highest generation number that the operator has used
  std::uint8_t record = 0;     // the newest recorded generation
  std::uint8_t committed = 0;  // the newest generation of which agents may be notified
  // The generation of one worker that `committed` replaced and whose worker is a member of `committed`; 0: none.
  std::uint8_t replaced = 0;
  // The membership of the newest generation is not committed, and the previous generation still trains.
  std::uint8_t is_voluntary = 0;
  std::uint8_t releases_gpus = 0;  // no worker has a role in the newest generation
  std::uint8_t change = 0;         // planned changes so far; determines the wanted plan
  std::uint8_t releases = 0;       // checkpoint-and-releases so far
  std::uint8_t withdrawals = 0;    // withdrawn changes so far
  std::uint8_t checkpoint = 0;     // the step of the newest complete checkpoint
  std::uint8_t claim = 0;          // the newest generation for which the operator had the checkpoint folder claimed
  Mask crashed = 0;
  Mask unresponsive = 0;   // does not answer the operator: partitioned from it, or frozen
  Mask leased = 0;         // the worker's lease holds
  Mask stale = 0;          // was absent when the job released its GPUs, so its state is outdated
  Mask broken_paths = 0;   // broken paths between two workers, each named by the third worker
  Mask noticed_paths = 0;  // the broken paths that the operator has noticed
  Mask unreachable = 0;    // answers the operator but does not reach some peer, and is therefore left out
  friend bool operator==(const World&, const World&) = default;
};

// How much may happen.
struct Limits {
  int changes = 0;  // changes of the plan
  int faults = 0;
  int steps = kLastStep;  // the exploration of a history ends at this step
  int releases = 0;
  int withdrawals = 0;
  bool state_is_streamed = true;  // joining workers receive state while the others train
  bool paths_break = false;       // paths between two workers that both answer the operator
};

World first_world();     // no worker has received an assignment yet
World training_world();  // two replicas are at their first step, the third worker is idle
World pipeline_world();  // two stages are at their first step, the third worker is idle
World lone_world();      // one worker with a lease is at its first step, the others are idle

// True if all workers that train in the running generation take part in the next one, to train or to leave, and a
// worker of the next one lacks state.
bool streams_state(const Rendezvous& next, const Rendezvous& running);
bool is_alone(const World& world, int generation);  // true if one worker has all roles
// The generation that trains while the newest one waits for its pods; 0: none.
std::int64_t trains_on(const World& world);
// True if the newest generation trains, or a worker has reached the last explored step.
bool trains(const World& world, const Limits& limits);
std::string describe(const World& world);  // one line

}  // namespace sailor::trainer::exploration
