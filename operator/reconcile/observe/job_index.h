// JobIndex: the TrainingJobs that may use GPUs, and what each of them may use. It follows the cache of jobs change by
// change, so that those whom an event concerns are found without reading all jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/store.h"
#include "operator/model/rival.h"

namespace sailor {

struct IndexedJob {
  std::string uid;
  std::int64_t spec_generation = 0;  // the metadata.generation of the job
  std::shared_ptr<const Result<JobSpec>> spec;
  std::shared_ptr<const Demand> demand;   // null: its spec cannot be read, or another controller owns it
  RivalState state = RivalState::kHolds;  // as its status shows it, if it has no GPUs
  bool has_plan = false;                  // as its status shows it
};

// Any thread may call the functions.
class JobIndex {
 public:
  using ReadJob = std::function<Result<JobSpec>(const kube::Json&)>;

  // Make it before the store gets its objects, and before other listeners that use it.
  JobIndex(kube::Store& jobs, ReadJob read_job);
  JobIndex(const JobIndex&) = delete;
  JobIndex& operator=(const JobIndex&) = delete;

  [[nodiscard]] std::optional<IndexedJob> find(const JobKey& key) const;  // empty: the job may not use GPUs
  // Returns the spec of a job, of the same store or deleted. Reads it only if the index does not have it.
  [[nodiscard]] Result<JobSpec> spec_of(const kube::Json& job) const;
  [[nodiscard]] std::vector<JobKey> all() const;
  [[nodiscard]] std::vector<JobKey> those_that_may_use(const PoolKey& pool) const;
  // The same, but only those that have no plan.
  [[nodiscard]] std::vector<JobKey> those_that_look_for(const PoolKey& pool) const;
  // Returns the jobs that may use a pool which this job, of the same store or deleted, may use too.
  [[nodiscard]] std::vector<JobKey> those_that_compete_with(const kube::Json& job) const;
  // The same, but only those that wait for GPUs.
  [[nodiscard]] std::vector<JobKey> those_that_wait_beside(const kube::Json& job) const;
  [[nodiscard]] std::vector<JobKey> those_that_wait_beside(const ResourceSpec& resources) const;

 private:
  void take(const JobKey& key);
  [[nodiscard]] std::shared_ptr<const Demand> shared_demand(const Result<JobSpec>& spec, const kube::Json& job);
  template <class Concerns>
  [[nodiscard]] std::vector<JobKey> those_that(const Concerns& concerns) const;

  const kube::Store& store_;
  ReadJob read_job_;
  mutable std::mutex mutex_;
  std::map<JobKey, IndexedJob> jobs_;
  std::vector<std::weak_ptr<const Demand>> demands_;  // all different
};

}  // namespace sailor
