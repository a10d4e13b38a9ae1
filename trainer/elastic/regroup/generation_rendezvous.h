// GenerationRendezvous: the workers of a new generation find each other in the rendezvous store, report the state that
// they have, and wait for each other. The calls have this order: gather() while the previous generation still trains,
// then exchange() and confirm() when the worker has stopped. This class has no tensors; regroup.h acts on its results.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/elastic/control/assignment_mailbox.h"
#include "trainer/elastic/control/worker_settings.h"
#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/protocol/state_report.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/peer_replicas.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

class GenerationRendezvous {
 public:
  // Connects to the store. The timeouts and the mailbox must outlive the object. Throws CommunicationError if the store
  // cannot be reached.
  GenerationRendezvous(std::shared_ptr<const Assignment> assignment, int rank, const Timeouts& timeouts,
                       const AssignmentMailbox& mailbox);

  using TimePoint = std::chrono::steady_clock::time_point;

  // The next three functions wait for all workers. Each returns false as soon as a newer generation is known. Each
  // throws CommunicationError if a worker does not arrive in time, and CannotTrain if a report cannot be parsed.
  //
  // Waits until all workers have arrived and the preparation report of each is known.
  bool gather(const PreparationReport& mine, const std::atomic<TimePoint>& deadline);
  // Waits until the state report and the slices of each worker are known.
  bool exchange(const StateReport& mine, const WorkerSlices& slices);
  // Waits until all workers have confirmed. A worker can confirm several things; `what` is a different suffix of the
  // key for each of them.
  bool confirm(const std::string& what = "");

  // Call the next two functions after gather().
  [[nodiscard]] JoinPlan join_plan() const;  // the same on all workers
  [[nodiscard]] bool trains() const;         // this worker still trains in an older generation

  // The next functions return what follows from the state reports. Call them after exchange(). Except offers_state(),
  // the results are the same on all workers. point() is nothing if the workers together do not have a complete state.
  // needs_peer_replicas(), transfers(), streamed_bytes() and slices_to_save() require a point.
  [[nodiscard]] const std::vector<StateReport>& state_reports() const { return state_reports_; }
  [[nodiscard]] const std::optional<ResumePoint>& point() const { return point_; }
  [[nodiscard]] const TransferUnits& units() const { return units_.value(); }
  [[nodiscard]] bool offers_state() const;         // this worker has state of the resume point; false without a point
  [[nodiscard]] bool needs_peer_replicas() const;  // some slice of the point exists only in a peer replica
  [[nodiscard]] TransferPlan transfers() const;
  [[nodiscard]] std::int64_t bytes_of(const std::vector<UnitMove>& moves) const;
  [[nodiscard]] std::int64_t streamed_bytes() const;  // the state that workers have received by streaming
  // Returns by rank the slices that the rank writes to a checkpoint.
  [[nodiscard]] std::vector<StateSlices> slices_to_save() const;

  [[nodiscard]] const Roster& roster() const { return roster_; }
  [[nodiscard]] const std::vector<PeerReplica>& peer_replicas() const { return peer_replicas_; }
  [[nodiscard]] WorkerSlices wanted_here() const { return worker_slices(roster_, peer_replicas_, rank_); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] Rendezvous& store() { return store_; }

 private:
  bool wait_for_all(const std::string& key, std::vector<std::string>& values, const std::atomic<TimePoint>& deadline);
  void throw_missing(const std::vector<std::string>& keys);  // unless all are set now
  [[nodiscard]] TimePoint join_deadline() const;
  [[nodiscard]] std::vector<WorkerSlices> wanted() const;  // indexed by rank
  [[nodiscard]] std::int64_t bytes_of(int unit) const;

  const std::shared_ptr<const Assignment> assignment_;
  int rank_;
  const Timeouts& timeouts_;
  const AssignmentMailbox& mailbox_;
  Roster roster_;
  std::vector<PeerReplica> peer_replicas_;
  Rendezvous store_;
  std::vector<PreparationReport> preparation_reports_;
  std::vector<StateReport> state_reports_;
  std::optional<TransferUnits> units_;
  std::optional<ResumePoint> point_;
};

}  // namespace sailor::trainer
