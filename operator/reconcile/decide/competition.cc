#include "operator/reconcile/decide/competition.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>

#include <fmt/format.h>

#include "operator/model/holders_text.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

int used_by(const NodeView& node, const std::string& uid) {
  const auto found = node.used.find(uid);
  return found == node.used.end() ? 0 : found->second;
}

int sum_of(const GpusByNode& gpus) {
  return std::accumulate(gpus.begin(), gpus.end(), 0, [](int sum, const auto& node) { return sum + node.second; });
}

template <class Jobs, class Test>
const Rival* first_that(const Jobs& jobs, const Test& test) {
  const auto found = std::ranges::find_if(jobs, [&](const auto& rival) { return test(*rival); });
  return found == std::ranges::end(jobs) ? nullptr : found->get();
}

}  // namespace

GpusByNode fewest_nodes(GpusByNode gpus, int enough) {
  GpusByNode chosen;
  while (enough > 0 && !gpus.empty()) {
    // The smallest that is enough, or else the largest.
    const auto best = std::ranges::min_element(gpus, {}, [&](const auto& node) {
      const bool is_enough = node.second >= enough;
      return std::pair(!is_enough, is_enough ? node.second : -node.second);
    });
    enough -= best->second;
    chosen.insert(gpus.extract(best));
  }
  return chosen;
}

Competition::Competition(const Observation& observation)
    : observation_(observation),
      rank_{observation.job.priority.value, observation.job.created, observation.job.key},
      demand_(demand_of(observation.job.spec ? *observation.job.spec : JobSpec{}, observation.job.pod_template)) {
  for (const Rival* rival : observation.rivals->without_gpus()) {
    const bool waits = rival->state == RivalState::kWaits || is_about_to_be_planned(*rival);
    if (!waits || is_lower(*rival) || rival->uid == observation.job.uid) continue;
    waiting_.push_back(rival);
    wanted_.insert(rival->demand.get());
  }
}

const Rival* Competition::find(std::string_view uid) const {
  return uid == observation_.job.uid ? nullptr : observation_.rivals->find(uid);
}

std::chrono::milliseconds Competition::pending_for(const Rival& rival) const {
  return rival.pending_since ? observation_.monotonic_now - *rival.pending_since : std::chrono::milliseconds(0);
}

bool Competition::is_about_to_be_planned(const Rival& rival) const {
  return rival.is_pending && pending_for(rival) < kLongestTurn;
}

bool Competition::may_use(const NodeView& node) const { return node.takes_pods() && demand_.may_use(node); }

bool Competition::may_use_a_node_of(const Demand& demand) const {
  return std::ranges::any_of(observation_.cluster->nodes,
                             [&](const NodeView& node) { return may_use(node) && demand.may_use(node); });
}

int Competition::free_gpus() const {
  int sum = 0;
  for (const NodeView& node : observation_.cluster->nodes) {
    const int gpus = node.gpus_left_to(observation_.job.uid);
    if (gpus > 0 && may_use(node)) sum += gpus;
  }
  return sum;
}

const Rival* Competition::find_turn_before() const {
  const std::int64_t available = free_gpus() + sum_of(gpus_of_lower_jobs(std::numeric_limits<int>::max()));
  const auto wanted_by = [&](const ResourceSpec& resources) {
    return resources.max_gpus ? std::min<std::int64_t>(*resources.max_gpus, available) : available;
  };
  const Rival* first = nullptr;
  std::int64_t wanted = wanted_by(demand_.resources);
  std::map<const Demand*, bool> want_the_same;  // each kind of jobs is compared once
  for (const Rival* rival : observation_.rivals->without_gpus()) {
    if (!comes_before(rival->rank, rank_)) break;
    if (!is_about_to_be_planned(*rival)) continue;
    const auto [entry, is_new] = want_the_same.try_emplace(rival->demand.get(), false);
    if (is_new) entry->second = may_use_a_node_of(*rival->demand);
    if (!entry->second) continue;
    if (first == nullptr) first = rival;
    wanted += wanted_by(rival->demand->resources);
  }
  return wanted > available ? first : nullptr;
}

bool Competition::leaves_nodes_for_now() const {
  return std::ranges::any_of(waiting_, [](const Rival* rival) { return rival->state == RivalState::kUndecided; });
}

bool Competition::is_left_to_others(const NodeView& node) const {
  return std::ranges::any_of(wanted_, [&](const Demand* demand) { return demand->may_use(node); });
}

bool Competition::is_growth_left_to_others(const PoolKey& pool) const {
  const Labels labels = observation_.cluster->labels_of_new_node(pool);
  return std::ranges::any_of(wanted_, [&](const Demand* demand) { return demand->may_use_growth(pool, labels); });
}

const Rival* Competition::find_waiting_for_growth(const PoolKey& pool) const {
  const Labels labels = observation_.cluster->labels_of_new_node(pool);
  const auto found = std::ranges::find_if(waiting_, [&](const Rival* rival) {
    return rival->state == RivalState::kWaits && rival->demand->may_use_growth(pool, labels);
  });
  return found == waiting_.end() ? nullptr : *found;
}

// A claim may ask for more GPUs than the node has left. Then those who come first keep theirs.
int Competition::kept_gpus(const NodeView& node, const std::string& uid) const {
  const int used = used_by(node, uid);
  if (node.used_gpus() <= node.gpus) return used;
  const Rival* rival = find(uid);
  if (rival == nullptr && uid != observation_.job.uid) return used;
  const JobRank& rank = rival == nullptr ? rank_ : rival->rank;
  int left = node.gpus;
  bool is_outranked = false;
  for (const auto& [other_uid, gpus] : node.used) {
    if (other_uid == uid) continue;
    const Rival* other = find(other_uid);
    const bool is_this_job = other_uid == observation_.job.uid;
    const JobRank* other_rank = other != nullptr ? &other->rank : is_this_job ? &rank_ : nullptr;
    if (other_rank == nullptr || comes_before(*other_rank, rank)) left -= gpus;
    is_outranked = is_outranked || (other_rank != nullptr && other_rank->priority > rank.priority);
  }
  return !is_outranked || left >= used ? used : 0;
}

std::span<const std::shared_ptr<const Rival>> Competition::lower_jobs() const {
  const Rivals::InOrder& all = observation_.rivals->all();
  return {std::ranges::partition_point(all, [&](const auto& rival) { return !is_lower(*rival); }), all.end()};
}

Competition::NodesByJob Competition::nodes_of(std::span<const std::shared_ptr<const Rival>> jobs) const {
  NodesByJob nodes;
  if (jobs.empty()) return nodes;
  for (const auto& job : jobs) nodes[job->uid];
  for (const NodeView& node : observation_.cluster->nodes) {
    for (const auto& [uid, gpus] : node.used) {
      if (const auto entry = nodes.find(uid); entry != nodes.end()) entry->second.push_back(&node);
    }
  }
  return nodes;
}

GpusByNode Competition::spare_gpus_of_lower_jobs() const {
  GpusByNode spare;
  if (!observation_.job.priority.takes_gpus) return spare;
  const auto jobs = lower_jobs();
  const NodesByJob nodes_of_job = nodes_of(jobs);
  for (const auto& rival : jobs) {
    if (rival->demand == nullptr || rival->demand->elasticity == ElasticityMode::kOff) continue;
    const std::vector<const NodeView*>& nodes = nodes_of_job.at(rival->uid);
    int held = 0;
    for (const NodeView* node : nodes) held += kept_gpus(*node, rival->uid);
    for (const NodeView* node : nodes | std::views::reverse) {
      const int gpus = kept_gpus(*node, rival->uid);
      if (gpus == 0 || !may_use(*node) || held - gpus < rival->demand->resources.min_gpus) continue;
      held -= gpus;
      spare[node->name] += gpus;
    }
  }
  return spare;
}

GpusByNode Competition::gpus_of_lower_jobs(int enough) const {
  GpusByNode taken;
  if (!observation_.job.priority.takes_gpus) return taken;
  const auto jobs = lower_jobs();
  const NodesByJob nodes_of_job = nodes_of(jobs);
  int sum = 0;
  for (const auto& rival : jobs | std::views::reverse) {
    if (sum >= enough) break;
    for (const NodeView* node : nodes_of_job.at(rival->uid)) {
      const int gpus = kept_gpus(*node, rival->uid);
      if (gpus == 0 || !may_use(*node)) continue;
      taken[node->name] += gpus;
      sum += gpus;
    }
  }
  return taken;
}

GpusByNode Competition::gpus_of_all_jobs() const {
  GpusByNode held;
  for (const NodeView& node : observation_.cluster->nodes) {
    if (node.used.empty() || !may_use(node)) continue;
    for (const auto& [uid, gpus] : node.used) {
      if (find(uid) != nullptr) held[node.name] += kept_gpus(node, uid);
    }
  }
  std::erase_if(held, [](const auto& node) { return node.second == 0; });
  return held;
}

const Rival* Competition::find_claimant(const NodeView& node) const {
  if (used_by(node, observation_.job.uid) == 0 || kept_gpus(node, observation_.job.uid) > 0) return nullptr;
  return first_that(observation_.rivals->all(), [&](const Rival& rival) {
    return rival.rank.priority > rank_.priority && used_by(node, rival.uid) > 0;
  });
}

const Rival* Competition::find_holder(const Slot& slot) const {
  const NodeView* node = observation_.cluster->find_node(slot.node);
  if (node == nullptr || node->gpus_left_to(observation_.job.uid) >= slot.gpus) return nullptr;
  return first_that(lower_jobs(), [&](const Rival& rival) { return used_by(*node, rival.uid) > 0; });
}

std::vector<Competition::Loss> Competition::losses() const {
  std::vector<Loss> losses;
  const auto jobs = lower_jobs();
  const NodesByJob nodes_of_job = nodes_of(jobs);
  for (const auto& rival : jobs) {
    Loss loss{.rival = rival.get()};
    for (const NodeView* node : nodes_of_job.at(rival->uid)) {
      loss.had += used_by(*node, rival->uid);
      loss.left += kept_gpus(*node, rival->uid);
    }
    if (loss.left < loss.had) losses.push_back(loss);
  }
  return losses;
}

std::vector<Competition::Holder> Competition::holders() const {
  std::map<const Rival*, int> held;
  for (const NodeView& node : observation_.cluster->nodes) {
    if (node.used.empty() || !may_use(node)) continue;
    for (const auto& [uid, gpus] : node.used) {
      if (uid != observation_.job.uid && gpus > 0) held[find(uid)] += gpus;
    }
  }
  std::vector<Holder> holders;
  holders.reserve(held.size());
  for (const auto& [rival, gpus] : held) holders.push_back({rival, gpus});
  std::ranges::sort(holders, [](const Holder& one, const Holder& other) {
    if (one.gpus != other.gpus || one.rival == nullptr || other.rival == nullptr) {
      return std::pair(-one.gpus, one.rival == nullptr) < std::pair(-other.gpus, other.rival == nullptr);
    }
    return comes_before(one.rival->rank, other.rival->rank);
  });
  return holders;
}

std::string Competition::holders_text() const {
  const std::string text = sailor::holders_text(holders(), [](const Holder& holder) {
    return holder.rival == nullptr
               ? "other pods"
               : fmt::format("job {} (priority {})", to_string(holder.rival->rank.key), holder.rival->rank.priority);
  });
  return text.empty() ? text : "GPUs that it may use are in use: " + text;
}

}  // namespace sailor
