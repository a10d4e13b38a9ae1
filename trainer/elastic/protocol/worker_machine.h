// The worker's side of the protocol, as a function from its state and an event to its state. No tensor, no socket, no
// clock: worker.cc carries out what the state says and reports back what happened. docs/elasticity-internals.md has the
// picture; tests/trainer/elastic/protocol explores every order of events of a small world.
#pragma once

#include <compare>
#include <cstdint>
#include <variant>

namespace sailor::trainer {

// What a worker is doing. Each names one piece of work that ends with one of the events below.
enum class Place : std::uint8_t {
  kIdle,        // has never obeyed a generation
  kMeeting,     // says what it holds, and waits to hear it of all others
  kMoving,      // sends and receives state
  kConfirming,  // has what it needs; waits until all have
  kComputing,   // a step's gradients, up to their sums over all workers
  kVoting,      // holds complete gradients; waits until all do
  kPaused,      // could vote, but may not until its lease is renewed
  kFinishing,   // all steps are done; waits for the last checkpoint
  kBroken,      // lost a peer; keeps what it holds
  kReleased,    // nobody needs what it held
  kDone,
};

// An assignment, as far as the protocol is concerned with it.
struct Order {
  std::int64_t generation = 0;
  bool has_slot = false;      // this worker takes part, if only to hand over its state
  bool has_role = false;      // it trains
  bool drops_a_peer = false;  // somebody of the generation that runs here takes no part: that one cannot go on
  bool is_prepared = false;   // those who lack state have the bulk of it: changing over will be quick
  friend auto operator<=>(const Order&, const Order&) = default;
};

// What a worker's state is worth. A generation has one history, so step and the generation of the last update name a
// state: wherever the two are equal the states are. Of two states the one confirmed later is the truth, whatever their
// steps.
struct Account {
  std::int64_t updated_by = 0;  // the generation that made the last update, or loaded a checkpoint; 0: holds nothing
  std::int64_t step = 0;        // optimizer steps that it contains
  std::int64_t confirmed = 0;   // the newest generation that began to train from it
  bool has_gradients = false;   // complete ones, by the workers of that generation, of the step after it
  friend auto operator<=>(const Account&, const Account&) = default;
};

struct WorkerState {
  Place place = Place::kIdle;
  std::int64_t generation = 0;  // the newest that it obeys
  bool has_role = false;
  Account account;
  Order next;  // the newest it knows of, where that is newer than the one it obeys
  friend auto operator<=>(const WorkerState&, const WorkerState&) = default;
};

namespace event {
struct Assigned {  // at any place
  Order order;
};
struct Prepared {  // at any place
  std::int64_t generation = 0;
};
struct Followed {  // at the meeting a worker that held nothing has all that it followed, or a part, of a generation
                   // that has ended by agreement with this step
  std::int64_t step = 0;
  std::int64_t generation = 0;
};
struct Met {               // everybody's holdings are known, and with them where to go on
  bool can_offer = false;  // what this worker holds is of that point, perhaps once it has applied its gradients
  std::int64_t step = 0;   // the point's
  std::int64_t updated_by = 0;
};
struct Moved {  // this worker has sent and received what the holdings ask for
  std::int64_t step = 0;
  std::int64_t updated_by = 0;
  std::int64_t confirmed = 0;
};
struct Confirmed {  // all have
  bool all_steps_are_done = false;
};
struct Computed {};  // of all workers: gradients, their norm and the loss are complete here
struct Voted {       // all workers hold complete gradients
  bool somebody_leaves = false;
  bool is_last_step = false;
};
struct LeaseLapsed {};
struct LeaseRenewed {};
struct Finished {};
struct PeerLost {};
}  // namespace event

using Event = std::variant<event::Assigned, event::Prepared, event::Followed, event::Met, event::Moved,
                           event::Confirmed, event::Computed, event::Voted, event::LeaseLapsed, event::LeaseRenewed,
                           event::Finished, event::PeerLost>;

// An event that does not belong to the place changes nothing: it is of a generation that this worker has left.
WorkerState after(WorkerState state, const Event& event);

bool is_training(Place place);  // a step is being worked at

// Whether this worker's vote asks all to stop at the end of the step.
bool wants_to_leave(const WorkerState& state);

// Whether the generation that runs here has no future, so that whatever this worker waits for must be broken off.
bool must_break_off(const WorkerState& state, const Order& order);

}  // namespace sailor::trainer
