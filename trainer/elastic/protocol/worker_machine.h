// The state machine of one worker: a pure function from a state and an event to the next state, without tensors,
// sockets or clocks. worker/worker.cc carries out the action of each state and reports the result as an event.
// docs/elasticity-internals.md has a picture. tests/trainer/elastic/protocol explores every order of events in small
// jobs.
//
// A worker obeys a generation from the moment it goes to the rendezvous of that generation. It may know a newer
// generation earlier (WorkerState::next).
#pragma once

#include <compare>
#include <cstdint>
#include <variant>

namespace sailor::trainer {

// What a worker is doing. In each place the worker carries out one action, which ends with one of the events below.
enum class WorkerPlace : std::uint8_t {
  kIdle,           // has not obeyed any generation yet
  kRendezvous,     // has sent its state report and waits for those of all workers
  kTransferring,   // sends and receives state
  kConfirming,     // has the state that it needs and waits until all workers have theirs
  kComputing,      // computes the gradients of a step, summed over all workers
  kVoting,         // has complete gradients and waits until all workers have them
  kAwaitingLease,  // could vote, but its lease has lapsed
  kFinishing,      // all steps are done; waits for the last checkpoint
  kBroken,         // its generation is over (a peer was lost, or all left); keeps its state and waits for a newer one
  kReleased,       // has dropped its state, because no worker needs it any more
  kDone,           // the job is finished
};

// What an assignment asks of one worker.
struct Command {
  std::int64_t generation = 0;
  bool has_slot = false;  // the worker takes part, even if only to transfer its state
  bool has_role = false;  // it trains
  // A worker of the running generation has no slot, so the running generation cannot continue.
  bool drops_a_peer = false;
  // This worker's preparation has succeeded or failed (event::PreparationOver), so it may leave after the next vote.
  bool preparation_is_over = false;
  friend auto operator<=>(const Command&, const Command&) = default;
};

// The version of a worker's state. The step and the generation of the last update identify a state: if both are equal,
// the states are equal, because a generation applies each step only once. Of two versions, the one with the newer
// `confirmed` is valid, even if its step is smaller.
struct StateVersion {
  std::int64_t updated_by = 0;  // the generation that made the last update or loaded a checkpoint; 0: no state
  std::int64_t step = 0;        // optimizer steps that it contains
  std::int64_t confirmed = 0;   // the newest generation that started to train from it
  bool has_gradients = false;   // complete gradients of the next step, computed by the workers of that generation
  // Another worker may have applied the next step, although this one has no gradients of it. This worker received the
  // state by streaming while the others trained on, or has such state from a rendezvous of which no generation started.
  bool may_be_behind = false;
  friend auto operator<=>(const StateVersion&, const StateVersion&) = default;
};

struct WorkerState {
  WorkerPlace place = WorkerPlace::kIdle;
  std::int64_t generation = 0;  // the generation that it obeys
  bool has_role = false;
  StateVersion version;
  Command next;  // the newest generation that it knows, if it does not obey that one yet
  friend auto operator<=>(const WorkerState&, const WorkerState&) = default;
};

namespace event {
// Occurs in any place.
struct Assigned {
  Command command;
};
// Occurs in any place. The preparation of this generation has succeeded or failed.
struct PreparationOver {
  std::int64_t generation = 0;
};
// Occurs at the rendezvous. A worker without state has received all or some of its state by streaming, from workers of
// `generation`.
struct StateStreamed {
  std::int64_t step = 0;
  std::int64_t updated_by = 0;
  std::int64_t generation = 0;
  bool is_final = true;  // all workers of the generation agreed to end it after this step; false: it may have gone on
};
struct StateReportsKnown {  // all state reports are known, and so is the resume point
  bool can_offer = false;   // this worker has state of that point, perhaps after applying its gradients
  std::int64_t step = 0;    // step of the resume point
  std::int64_t updated_by = 0;
  bool may_be_behind = false;  // see ResumePoint
};
struct StateTransferred {  // this worker has sent and received all its transfers
  std::int64_t step = 0;
  std::int64_t updated_by = 0;
  std::int64_t confirmed = 0;
  bool may_be_behind = false;  // see ResumePoint
};
struct Confirmed {  // all workers have the state that they need
  bool all_steps_are_done = false;
};
struct Computed {};  // the gradients of all workers, their norm and the loss are complete here
struct Voted {       // all workers have complete gradients
  bool somebody_leaves = false;
  bool is_last_step = false;
};
struct LeaseLapsed {};
struct LeaseRenewed {};
struct Finished {};
// The generation cannot continue on this worker: a peer is lost, a checkpoint cannot be written, or the agent is gone.
struct GenerationFailed {};
}  // namespace event

using Event = std::variant<event::Assigned, event::PreparationOver, event::StateStreamed, event::StateReportsKnown,
                           event::StateTransferred, event::Confirmed, event::Computed, event::Voted, event::LeaseLapsed,
                           event::LeaseRenewed, event::Finished, event::GenerationFailed>;

// Returns the state after the event. An event that does not fit the place changes nothing, because it belongs to a
// generation that this worker has left.
WorkerState after(WorkerState state, const Event& event);

bool is_training(WorkerPlace place);  // the worker computes a step or votes

// Returns true if this worker votes to end the generation after the step.
bool wants_to_leave(const WorkerState& state);

// Returns true if the running generation cannot continue, so the worker must stop waiting for its peers at once.
bool must_break_off(const WorkerState& state, const Command& command);

}  // namespace sailor::trainer
