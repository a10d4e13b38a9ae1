// Meeting: how the workers of a new generation find each other at its rendezvous store, say what they hold, and wait
// for each other. No tensor here: what follows from it is in regroup.h.
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
#include "trainer/elastic/protocol/holding.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/peer_replicas.h"
#include "trainer/elastic/state/transfer_units.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

class Meeting {
 public:
  // Patience and inbox outlive the meeting. Throws PeerLost where the store cannot be reached.
  Meeting(std::shared_ptr<const Assignment> assignment, int rank, const Patience& patience, const Inbox& inbox);

  using TimePoint = std::chrono::steady_clock::time_point;

  // Each returns false as soon as a newer generation is known; throws PeerLost if somebody does not come in time.
  // Until all workers are here, whatever else they do still, and it is known what that is.
  bool gather(const Standing& mine, const std::atomic<TimePoint>& deadline);
  bool exchange(const Holding& mine, const WorkerSlices& slices);  // until it is known what everybody holds
  bool confirm(const std::string& what = "");  // until everybody has confirmed this; the first to come need not stay

  [[nodiscard]] FollowPlan following() const;  // once all are here, the same for all

  // What follows from the holdings, the same for all, by units of the state; `point` is nothing where memory lacks one.
  [[nodiscard]] const std::vector<Holding>& holdings() const { return holdings_; }
  [[nodiscard]] const std::optional<ResumePoint>& point() const { return point_; }
  [[nodiscard]] const TransferUnits& units() const { return units_.value(); }
  [[nodiscard]] bool offers_state() const;  // what this worker holds is of the point
  [[nodiscard]] bool needs_copies() const;  // some slice of the point is left in a peer's copy only
  [[nodiscard]] TransferPlan transfers() const;
  [[nodiscard]] std::int64_t bytes_of(const std::vector<UnitMove>& moves) const;
  [[nodiscard]] std::int64_t bytes_followed() const;       // that newcomers bring
  [[nodiscard]] std::vector<StateSlices> writers() const;  // by rank: what it brings to a checkpoint

  [[nodiscard]] const Roster& roster() const { return roster_; }
  [[nodiscard]] const std::vector<StateCopy>& copies() const { return copies_; }
  [[nodiscard]] WorkerSlices wanted_here() const { return worker_slices(roster_, copies_, rank_); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] Rendezvous& rendezvous() { return rendezvous_; }

 private:
  bool wait_for_all(const std::string& key, std::vector<std::string>& values, const std::atomic<TimePoint>& deadline);
  [[nodiscard]] TimePoint patient_deadline() const;
  [[nodiscard]] std::vector<WorkerSlices> wanted() const;  // by rank
  [[nodiscard]] std::int64_t bytes_of(int unit) const;

  const std::shared_ptr<const Assignment> assignment_;
  int rank_;
  const Patience& patience_;
  const Inbox& inbox_;
  Roster roster_;
  std::vector<StateCopy> copies_;
  Rendezvous rendezvous_;
  std::vector<Standing> standings_;
  std::vector<Holding> holdings_;
  std::optional<TransferUnits> units_;
  std::optional<ResumePoint> point_;
};

}  // namespace sailor::trainer
