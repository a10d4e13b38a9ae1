#include "operator/reconcile/observe/fleet.h"

#include <algorithm>
#include <ranges>

#include "operator/model/changes.h"
#include "operator/model/gpu_claims.h"

namespace sailor {

using kube::Json;

Fleet::Fleet(Caches& caches, const JobIndex& jobs, Sources sources)
    : caches_(caches), jobs_(jobs), sources_(std::move(sources)) {
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

bool Fleet::has_decided(const JobKey& key, const std::string& uid) const {
  const auto known = contenders_.find(key);
  return known != contenders_.end() && known->second.rival->uid == uid && known->second.is_decided;
}

std::optional<Fleet::Contender> Fleet::contender(const JobKey& key) const {
  const kube::Object object = caches_.jobs.find(key);
  const auto job = jobs_.find(key);
  if (object == nullptr || !job || kube::uid_of(*object) != job->uid) return std::nullopt;
  const auto record = sources_.record(key, job->uid);
  const bool has_gpus = record && !record->releases_gpus;
  const bool is_decided = has_decided(key, job->uid);
  Rival rival;
  rival.uid = job->uid;
  rival.rank = {sources_.priority(*object).value, kube::created_at(*object), key};
  rival.spec_generation = job->spec_generation;
  rival.demand = job->demand;
  const bool is_known = job->demand == nullptr || is_decided;
  rival.state = has_gpus ? RivalState::kHolds : is_known ? job->state : RivalState::kUndecided;
  Contender contender;
  contender.is_decided = is_decided;
  contender.rival = std::make_shared<const Rival>(std::move(rival));
  if (record) {
    ClusterObjects objects;
    add_record(*record, objects);
    contender.claims = std::move(objects.claims);
    contender.refusals = std::move(objects.refusals);
  }
  return contender;
}

void Fleet::drop_claims(const Contender& contender, Changes& changes) {
  for (const Claim& claim : contender.claims) {
    if (claim.node.empty()) {
      claims_.growth[claim.pool].erase(claim.job_uid);
      continue;
    }
    std::erase_if(claims_.on[claim.node], [&](const Claim& other) { return other.job_uid == claim.job_uid; });
    if (claims_.on[claim.node].empty()) claims_.on.erase(claim.node);
    changes.users.insert(claim.node);
  }
  std::erase_if(claims_.growth, [](const auto& pool) { return pool.second.empty(); });
}

void Fleet::add_claims(const Contender& contender, Changes& changes) {
  for (const Claim& claim : contender.claims) {
    if (claim.node.empty()) {
      ++claims_.growth[claim.pool][claim.job_uid];
      continue;
    }
    claims_.on[claim.node].push_back(claim);
    changes.users.insert(claim.node);
  }
}

// Returns whether the rival has changed.
bool Fleet::replace_contender(const JobKey& key, std::optional<Contender> now, Changes& changes) {
  const auto known = contenders_.find(key);
  if (known == contenders_.end()) {
    if (!now) return false;
    add_claims(*now, changes);
    contenders_.emplace(key, *std::move(now));
    return true;
  }
  Contender& before = known->second;
  if (!now) {
    drop_claims(before, changes);
    contenders_.erase(known);
    return true;
  }
  const bool is_same_rival = *now->rival == *before.rival;
  if (is_same_rival) now->rival = before.rival;
  if (now->claims != before.claims) {
    drop_claims(before, changes);
    add_claims(*now, changes);
  }
  before = *std::move(now);
  return !is_same_rival;
}

bool Fleet::read_jobs(Changes& changes) {
  std::set<JobKey> keys = changes.jobs;
  if (changes.all_jobs) {
    for (const JobKey& key : jobs_.all()) keys.insert(key);
    for (const auto& [key, known] : contenders_) keys.insert(key);
  }
  bool have_changed = false;
  for (const JobKey& key : keys) have_changed = replace_contender(key, contender(key), changes) || have_changed;
  claims_.refusals.clear();
  for (const auto& [key, contender] : contenders_) {
    for (const PoolRefusal& refusal : contender.refusals) add_refusal(claims_.refusals, refusal);
  }
  return have_changed;
}

std::vector<kube::Object> Fleet::pods_on(const std::string& node) const {
  std::vector<kube::Object> pods = caches_.pods.tagged(node_tag(node));
  for (kube::Object& pod : caches_.foreign_pods.tagged(node_tag(node))) pods.push_back(std::move(pod));
  return pods;
}

void Fleet::count_use(NodeView& node) const {
  node.used = gpus_used_by(pods_on(node.name));
  const auto claims = claims_.on.find(node.name);
  if (claims == claims_.on.end()) return;
  for (const Claim& claim : claims->second) add_claim(node, claim);
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

// An observation that has the view keeps it as it is.
void Fleet::read_cluster(const Changes& changes, Time now) {
  const bool is_as_before = !changes.all_nodes && changes.nodes.empty() && changes.users.empty() &&
                            view_->claimed_growth == claims_.growth && view_->refusals == claims_.refusals;
  if (is_as_before) return;
  auto view = std::make_shared<ClusterView>(*view_);
  const bool nodes_changed = changes.all_nodes || !changes.nodes.empty();
  const bool is_new = nodes_changed && read_nodes(*view, changes);
  const auto count = [this](NodeView& node) { count_use(node); };
  if (is_new) {
    view->nodes.change_all(count);
  } else {
    for (const std::string& node : changes.users) view->nodes.change(node, count);
  }
  view->claimed_growth = claims_.growth;
  view->refusals = claims_.refusals;
  if (is_new || changes.users.contains("")) {
    view->awaited.clear();
    for (const kube::Object& pod : pods_on("")) count_awaited_node(view->awaited, *pod);
  }
  if (nodes_changed) notices_.fill_in(*view, now);
  if (is_new) {
    pools_.observe_all(*view, caches_.pools.all(), now);
  } else {
    pools_.observe(*view, changes.nodes, now);
  }
  view_ = std::move(view);
}

void Fleet::order_rivals(bool have_changed, MonotonicTime now) {
  if (have_changed) {
    in_order_.clear();
    for (const auto& [key, contender] : contenders_) in_order_.push_back(contender.rival);
    std::ranges::sort(in_order_,
                      [](const auto& one, const auto& other) { return comes_before(one->rank, other->rank); });
  }
  if (!have_changed && rivals_->without_gpus().empty()) return;
  Rivals::InOrder complete = in_order_;
  pending_.fill_in(complete, *view_, now);
  if (complete != rivals_->all()) rivals_ = std::make_shared<const Rivals>(std::move(complete));
}

FleetSnapshot Fleet::look(Time now, MonotonicTime monotonic_now) {
  const std::lock_guard lock(mutex_);
  Changes changes = take_changes();
  if (!changes.is_empty()) {
    const bool have_rivals_changed = (changes.all_jobs || !changes.jobs.empty()) && read_jobs(changes);
    read_cluster(changes, now);
    order_rivals(have_rivals_changed, monotonic_now);
  }
  return {view_, rivals_, pools_.histories()};
}

bool Fleet::note_decided(const JobKey& key, const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const auto known = contenders_.find(key);
  if (known == contenders_.end() || known->second.rival->uid != uid || known->second.is_decided) return false;
  known->second.is_decided = true;
  const std::lock_guard changes_lock(changes_mutex_);
  changes_.jobs.insert(key);
  return true;
}

}  // namespace sailor
