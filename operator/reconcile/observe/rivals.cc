#include "operator/reconcile/observe/rivals.h"

#include <algorithm>

#include "operator/render/pod.h"

namespace sailor {
namespace {

std::shared_ptr<const Demand> demand_of(const kube::Json& job, const Result<JobSpec>& spec) {
  if (!spec || !spec->managed_by.empty()) return nullptr;
  const kube::Json* pod_template = kube::find_at(job, {"spec", "podTemplate"});
  return std::make_shared<const Demand>(
      Demand{spec->resources, spec->elasticity,
             SchedulingRules(scheduling_spec(pod_template == nullptr ? kube::Json() : *pod_template))});
}

RivalState state_of(const Contender& contender) {
  const bool has_gpus = contender.record && !contender.record->releases_gpus;
  return has_gpus ? RivalState::kHolds : state_without_gpus(*contender.job);
}

}  // namespace

JobPriority Rivals::priority_of(const kube::Json& job) const {
  const std::string name = priority_class_of(job);
  if (!name.empty()) {
    const kube::Object named = caches_.priority_classes.find({"", name});
    return named == nullptr ? JobPriority{} : priority_from(*named);
  }
  for (const kube::Object& priority_class : caches_.priority_classes.all()) {
    if (kube::bool_at(*priority_class, {"globalDefault"})) return priority_from(*priority_class);
  }
  return {};
}

std::vector<Rivals::FreeNode> Rivals::free_nodes(const ClusterView& cluster) {
  std::vector<FreeNode> free;
  for (const NodeView& node : cluster.nodes) {
    const int gpus = node.gpus - node.used_gpus();
    if (gpus > 0 && node.takes_pods()) free.push_back({&node, gpus});
  }
  return free;
}

bool Rivals::is_pending(const Rival& rival, const std::vector<FreeNode>& free, Known& known) {
  if (rival.state != RivalState::kWaits || rival.demand == nullptr) {
    known.least_free.reset();
    return rival.state == RivalState::kUndecided;
  }
  int gpus = 0;
  for (const FreeNode& node : free) gpus += rival.demand->may_use(*node.node) ? node.gpus : 0;
  known.least_free = std::min(known.least_free.value_or(gpus), gpus);
  return gpus > *known.least_free;
}

Rival Rivals::rival_from(const Contender& contender, const std::vector<FreeNode>& free, Known& known,
                         MonotonicTime now) const {
  const kube::Json& job = *contender.job;
  const std::int64_t spec_generation = kube::integer_at(job, {"metadata", "generation"});
  if (known.demand == nullptr || known.spec_generation != spec_generation) {
    known.demand = demand_of(job, read_job_(job));
    known.spec_generation = spec_generation;
  }
  Rival rival{kube::uid_of(job), {priority_of(job).value, kube::created_at(job), kube::key_of(job)}};
  rival.state = known.demand == nullptr ? RivalState::kHolds : state_of(contender);
  rival.demand = known.demand;
  rival.is_pending = is_pending(rival, free, known);
  if (!rival.is_pending) {
    known.pending_since.reset();
  } else {
    known.pending_since = known.pending_since.value_or(now);
    rival.pending_for = now - *known.pending_since;
  }
  return rival;
}

std::vector<Rival> Rivals::rivals_of(const std::string& job_uid, const std::vector<Contender>& contenders,
                                     const ClusterView& cluster, MonotonicTime now) {
  const std::vector<FreeNode> free = free_nodes(cluster);
  const std::lock_guard lock(mutex_);
  std::map<std::string, Known> known;
  std::vector<Rival> rivals;
  for (const Contender& contender : contenders) {
    const std::string uid = kube::uid_of(*contender.job);
    Known& its = known[uid] = std::move(known_[uid]);
    Rival rival = rival_from(contender, free, its, now);
    if (uid != job_uid) rivals.push_back(std::move(rival));
  }
  known_ = std::move(known);
  std::ranges::sort(rivals, [](const Rival& one, const Rival& other) { return comes_before(one.rank, other.rank); });
  return rivals;
}

}  // namespace sailor
