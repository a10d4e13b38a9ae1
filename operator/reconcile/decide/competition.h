// Competition: which job gets GPUs first when they are not enough for all jobs. Jobs are ranked (model/rival.h):
//
// 1. A job without GPUs waits until it is known whether those that come before it can start (find_turn_before).
// 2. A job that trains takes no further node that a job without GPUs may use, unless that job has a lower priority
//    (is_left_to_others).
// 3. A job that starts may take GPUs from jobs of lower priority: at first those beyond their minGpus, then all of one
//    job after the other, from the last rank up. The record of the job claims the GPUs (model/gpu_claims.h).
// 4. A job whose GPUs are claimed by one of higher priority continues without them, or releases all its GPUs
//    (yielding.h). The pods of the other job are created once the GPUs are free (is_awaited).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "operator/model/observation.h"

namespace sailor {

// A job is waited for, because the planner looks for its plan, for at most this time: twice the planner's limit.
inline constexpr std::chrono::seconds kLongestTurn{10};

using GpusByNode = std::map<std::string, int>;  // by the name of the node

// Returns as few of the entries as give `enough` GPUs, or all of them.
GpusByNode fewest_nodes(GpusByNode gpus, int enough);

class Competition {
 public:
  explicit Competition(const Observation& observation);

  // Returns a job that comes before this one and whose plan this one should wait for; null: none. There is none
  // if the GPUs are enough for all these jobs. A job that the planner has had ten seconds for is not waited for.
  [[nodiscard]] const Rival* find_turn_before() const;

  // For how long the job has been waited for.
  [[nodiscard]] std::chrono::milliseconds pending_for(const Rival& rival) const;

  // Returns whether such a job is about to be planned, so that the nodes left to it may be free for this one soon.
  [[nodiscard]] bool leaves_nodes_for_now() const;

  // Returns whether a job without GPUs may use the node and does not have a lower priority than this job.
  [[nodiscard]] bool is_left_to_others(const NodeView& node) const;
  // The same for the nodes by which a pool can grow.
  [[nodiscard]] bool is_growth_left_to_others(const PoolKey& pool) const;
  // Returns such a job for which the planner has found no plan yet; null: none waits.
  [[nodiscard]] const Rival* find_waiting_for_growth(const PoolKey& pool) const;

  // The GPUs that this job may take from jobs of lower priority: those beyond the minGpus of each, or all of as many
  // jobs as it takes to get `enough`.
  [[nodiscard]] GpusByNode spare_gpus_of_lower_jobs() const;
  [[nodiscard]] GpusByNode gpus_of_lower_jobs(int enough) const;
  // The GPUs of all jobs.
  [[nodiscard]] GpusByNode gpus_of_all_jobs() const;

  // Returns the job of higher priority that claims this job's GPUs on the node; null: none does.
  [[nodiscard]] const Rival* find_claimant(const NodeView& node) const;

  // Returns the job of lower priority that still uses the GPUs of a slot; null: none does, or there are enough others.
  [[nodiscard]] const Rival* find_holder(const Slot& slot) const;

  // The GPUs of a job of lower priority that the claims of this job take.
  struct Loss {
    const Rival* rival = nullptr;
    int had = 0;
    int left = 0;
  };
  [[nodiscard]] std::vector<Loss> losses() const;  // the observation has the claims of this job; most important first

  struct Holder {
    const Rival* rival = nullptr;  // null: pods that belong to no rival
    int gpus = 0;
  };
  [[nodiscard]] std::vector<Holder> holders() const;  // of GPUs that the job may use, the one with most GPUs first

  // "GPUs that it may use are in use: 8 by job default/a (priority 0), 4 by other pods"; empty: none is in use.
  [[nodiscard]] std::string holders_text() const;

 private:
  using NodesByJob = std::unordered_map<std::string_view, std::vector<const NodeView*>>;  // by the UID of the job

  [[nodiscard]] const Rival* find(std::string_view uid) const;  // null: no other job that may use GPUs
  [[nodiscard]] bool is_lower(const Rival& rival) const { return rival.rank.priority < rank_.priority; }
  [[nodiscard]] bool is_about_to_be_planned(const Rival& rival) const;
  [[nodiscard]] bool may_use(const NodeView& node) const;
  [[nodiscard]] bool may_use_a_node_of(const Demand& demand) const;
  [[nodiscard]] int free_gpus() const;
  [[nodiscard]] int kept_gpus(const NodeView& node, const std::string& uid) const;
  // The jobs of lower priority, the one that comes first of all first.
  [[nodiscard]] std::span<const std::shared_ptr<const Rival>> lower_jobs() const;
  // The nodes with GPUs that these jobs use.
  [[nodiscard]] NodesByJob nodes_of(std::span<const std::shared_ptr<const Rival>> jobs) const;

  const Observation& observation_;
  JobRank rank_;
  Demand demand_;
  std::vector<const Rival*> waiting_;  // those without GPUs whose priority is not lower
  std::set<const Demand*> wanted_;     // by those
};

}  // namespace sailor
