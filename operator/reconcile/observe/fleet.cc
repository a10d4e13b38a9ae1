#include "operator/reconcile/observe/fleet.h"

#include <algorithm>
#include <ranges>

#include "operator/model/changes.h"
#include "operator/model/claims.h"
#include "operator/model/scheduling_rules.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

using kube::Json;

std::shared_ptr<const Demand> demand_of(const Json& job, const Result<JobSpec>& spec) {
  if (!spec || !spec->managed_by.empty()) return nullptr;
  const Json* pod_template = kube::find_at(job, {"spec", "podTemplate"});
  return std::make_shared<const Demand>(
      Demand{spec->resources, spec->elasticity,
             SchedulingRules(scheduling_spec(pod_template == nullptr ? Json() : *pod_template))});
}

}  // namespace

Fleet::Fleet(Caches& caches, Sources sources) : caches_(caches), sources_(std::move(sources)) {
  caches_.nodes.on_change([this](const Json* before, const Json* now) {
    const std::lock_guard lock(changes_mutex_);
    changes_.nodes.insert(kube::name_of(now == nullptr ? *before : *now));
  });
  caches_.pools.on_change([this](const Json* before, const Json* now) {
    if (!changes_pool(before, now)) return;
    const std::lock_guard lock(changes_mutex_);
    changes_.all_nodes = true;
  });
  for (kube::Store* store : {&caches_.jobs, &caches_.records}) {
    store->on_change([this](const Json* before, const Json* now) {
      const std::lock_guard lock(changes_mutex_);
      changes_.jobs.insert(kube::key_of(now == nullptr ? *before : *now));
    });
  }
  for (kube::Store* store : {&caches_.pods, &caches_.foreign_pods})
    store->on_change([this](const Json* before, const Json* now) { note_pod(before, now); });
  caches_.priority_classes.on_change([this](const Json*, const Json*) {
    const std::lock_guard lock(changes_mutex_);
    changes_.all_jobs = true;
  });
}

void Fleet::note_pod(const Json* before, const Json* now) {
  const std::lock_guard lock(changes_mutex_);
  for (const Json* pod : {before, now}) {
    if (pod != nullptr) changes_.users.insert(node_of_pod(*pod));
  }
}

Fleet::Changes Fleet::take_changes() {
  const std::lock_guard lock(changes_mutex_);
  return std::exchange(changes_, Changes{.all_nodes = false, .all_jobs = false, .nodes = {}, .users = {}, .jobs = {}});
}

std::shared_ptr<const Contender> Fleet::contender(const kube::Object& object, const Contender* before) const {
  const Json& job = *object;
  Contender contender;
  Rival& rival = contender.rival;
  rival.uid = kube::uid_of(job);
  rival.rank = {sources_.priority(job).value, kube::created_at(job), kube::key_of(job)};
  rival.spec_generation = kube::integer_at(job, {"metadata", "generation"});
  const bool is_same_spec =
      before != nullptr && before->rival.uid == rival.uid && before->rival.spec_generation == rival.spec_generation;
  rival.demand = is_same_spec ? before->rival.demand : demand_of(job, sources_.read_job(job));
  const auto record = sources_.record(rival.rank.key, rival.uid);
  const bool has_gpus = record && !record->releases_gpus;
  rival.state = has_gpus || rival.demand == nullptr ? RivalState::kHolds : state_without_gpus(job);
  if (record) {
    ClusterObjects objects;
    add_record(*record, objects);
    contender.claims = std::move(objects.claims);
    contender.refusals = std::move(objects.refusals);
  }
  return std::make_shared<const Contender>(std::move(contender));
}

void Fleet::read_jobs(const Changes& changes) {
  std::set<JobKey> keys = changes.jobs;
  if (changes.all_jobs) {
    for (const kube::Object& job : caches_.jobs.all()) keys.insert(kube::key_of(*job));
  }
  for (const JobKey& key : keys) {
    const kube::Object job = caches_.jobs.find(key);
    if (job == nullptr || !may_use_gpus(*job)) {
      contender_of_.erase(key);
      continue;
    }
    std::shared_ptr<const Contender>& known = contender_of_[key];
    known = contender(job, known.get());
  }
  contenders_.clear();
  for (const auto& [key, contender] : contender_of_) contenders_.push_back(contender);
  std::ranges::sort(
      contenders_, [](const auto& one, const auto& other) { return comes_before(one->rival.rank, other->rival.rank); });
}

// Adds to `touched` the nodes whose claims may have changed.
void Fleet::read_claims(ClusterView& view, std::set<std::string>& touched) {
  for (const auto& [node, claims] : claims_on_) touched.insert(node);
  claims_on_.clear();
  view.claimed_growth.clear();
  view.refusals.clear();
  for (const auto& contender : contenders_) {
    for (const PoolRefusal& refusal : contender->refusals) add_refusal(view.refusals, refusal);
    for (const Claim& claim : contender->claims) {
      if (claim.node.empty()) ++view.claimed_growth[claim.pool][claim.job_uid];
      claims_on_[claim.node].push_back(claim);
      touched.insert(claim.node);
    }
  }
}

std::vector<kube::Object> Fleet::pods_on(const std::string& node) const {
  std::vector<kube::Object> pods = caches_.pods.tagged(node_tag(node));
  for (kube::Object& pod : caches_.foreign_pods.tagged(node_tag(node))) pods.push_back(std::move(pod));
  return pods;
}

void Fleet::count_use(NodeView& node) const {
  node.used = gpus_used_by(pods_on(node.name));
  const auto claims = claims_on_.find(node.name);
  if (claims == claims_on_.end()) return;
  for (const Claim& claim : claims->second) add_claim(node, claim);
}

// An observation that still has the view keeps it as it is.
ClusterView& Fleet::writable_view() {
  if (view_.use_count() > 1) view_ = std::make_shared<ClusterView>(*view_);
  return *view_;
}

bool Fleet::read_nodes(ClusterView& view, const Changes& changes) const {
  const auto is_replaced = [&](const std::string& name) {
    const kube::Object node = caches_.nodes.find({"", name});
    return node != nullptr && replace_node(view, *node);
  };
  if (!changes.all_nodes && std::ranges::all_of(changes.nodes, is_replaced)) return false;
  view = view_of_nodes(
      {.nodes = caches_.nodes.all(), .gpu_pools = caches_.pools.all(), .least_capability = sources_.least_capability});
  return true;
}

FleetSnapshot Fleet::look(Time now) {
  const std::lock_guard lock(mutex_);
  Changes changes = take_changes();
  const bool jobs_changed = changes.all_jobs || !changes.jobs.empty();
  const bool nodes_changed = changes.all_nodes || !changes.nodes.empty();
  if (jobs_changed) read_jobs(changes);
  if (!jobs_changed && !nodes_changed && changes.users.empty()) return {view_, contenders_, pools_.histories()};
  ClusterView& view = writable_view();
  const bool is_new = nodes_changed && read_nodes(view, changes);
  if (jobs_changed || is_new) read_claims(view, changes.users);
  for (NodeView& node : view.nodes) {
    if (is_new || changes.users.contains(node.name)) count_use(node);
  }
  if (is_new || changes.users.contains("")) {
    view.awaited.clear();
    for (const kube::Object& pod : pods_on("")) count_awaited_node(view.awaited, *pod);
  }
  if (nodes_changed) notices_.complete(view, now);
  if (is_new) {
    pools_.observe_all(view, caches_.pools.all(), now);
  } else {
    pools_.observe(view, changes.nodes, now);
  }
  return {view_, contenders_, pools_.histories()};
}

}  // namespace sailor
