#include "operator/reconcile/observe/job_index.h"

#include "operator/model/gpu_claims.h"
#include "operator/render/pod.h"

namespace sailor {

using kube::Json;

JobIndex::JobIndex(kube::Store& jobs, ReadJob read_job) : store_(jobs), read_job_(std::move(read_job)) {
  jobs.on_change([this](const Json* before, const Json* now) { take(kube::key_of(now == nullptr ? *before : *now)); });
}

// Jobs differ in little of what they ask for, so most share one object. Whoever compares demands compares pointers.
std::shared_ptr<const Demand> JobIndex::shared_demand(const Result<JobSpec>& spec, const Json& job) {
  if (!spec || !spec->managed_by.empty()) return nullptr;
  const Json* pod_template = kube::find_at(job, {"spec", "podTemplate"});
  Demand demand = demand_of(*spec, pod_template == nullptr ? Json() : *pod_template);
  std::erase_if(demands_, [](const auto& known) { return known.expired(); });
  for (const auto& entry : demands_) {
    auto known = entry.lock();
    if (known != nullptr && *known == demand) return known;
  }
  auto added = std::make_shared<const Demand>(std::move(demand));
  demands_.push_back(added);
  return added;
}

// Two threads may tell of changes in another order than that of the changes, so the store says what is true now.
void JobIndex::take(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  const kube::Object object = store_.find(key);
  if (object == nullptr || !may_use_gpus(*object)) {
    jobs_.erase(key);
    return;
  }
  const std::string uid = kube::uid_of(*object);
  const std::int64_t generation = kube::integer_at(*object, {"metadata", "generation"});
  const auto [entry, is_new] = jobs_.try_emplace(key);
  IndexedJob& job = entry->second;
  if (is_new || job.uid != uid || job.spec_generation != generation) {
    auto spec = std::make_shared<const Result<JobSpec>>(read_job_(*object));
    auto demand = shared_demand(*spec, *object);
    job = {uid, generation, std::move(spec), std::move(demand)};
  }
  job.state = job.demand == nullptr ? RivalState::kHolds : state_without_gpus(*object);
  const Json* planned = kube::find_condition(*object, "Planned");
  job.has_plan = planned != nullptr && kube::text_at(*planned, {"status"}) == "True";
}

Result<JobSpec> JobIndex::spec_of(const Json& job) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(kube::key_of(job));
    const bool is_known = found != jobs_.end() && found->second.uid == kube::uid_of(job) &&
                          found->second.spec_generation == kube::integer_at(job, {"metadata", "generation"});
    if (is_known) return *found->second.spec;
  }
  return read_job_(job);
}

std::optional<IndexedJob> JobIndex::find(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(key);
  return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

template <class Concerns>
std::vector<JobKey> JobIndex::those_that(const Concerns& concerns) const {
  const std::lock_guard lock(mutex_);
  std::vector<JobKey> keys;
  for (const auto& [key, job] : jobs_) {
    if (concerns(job)) keys.push_back(key);
  }
  return keys;
}

std::vector<JobKey> JobIndex::all() const {
  return those_that([](const IndexedJob&) { return true; });
}

std::vector<JobKey> JobIndex::those_that_may_use(const PoolKey& pool) const {
  return those_that([&](const IndexedJob& job) { return job.demand != nullptr && job.demand->resources.allows(pool); });
}

std::vector<JobKey> JobIndex::those_that_look_for(const PoolKey& pool) const {
  return those_that([&](const IndexedJob& job) {
    return job.demand != nullptr && !job.has_plan && job.demand->resources.allows(pool);
  });
}

std::vector<JobKey> JobIndex::those_that_compete_with(const Json& job) const {
  const auto spec = spec_of(job);
  if (!spec) return {};
  return those_that([&](const IndexedJob& other) {
    return other.demand != nullptr && may_share_a_pool(other.demand->resources, spec->resources);
  });
}

std::vector<JobKey> JobIndex::those_that_wait_beside(const Json& job) const {
  const auto spec = spec_of(job);
  return spec ? those_that_wait_beside(spec->resources) : std::vector<JobKey>();
}

std::vector<JobKey> JobIndex::those_that_wait_beside(const ResourceSpec& resources) const {
  return those_that([&](const IndexedJob& other) {
    return other.state == RivalState::kWaits && may_share_a_pool(other.demand->resources, resources);
  });
}

}  // namespace sailor
