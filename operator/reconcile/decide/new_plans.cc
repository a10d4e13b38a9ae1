// Whether there must or may be another generation, and which plan it has.
#include <algorithm>

#include <fmt/format.h>

#include "operator/model/names.h"
#include "operator/reconcile/decide/job_decision.h"
#include "operator/reconcile/decide/quarantine.h"

namespace sailor {
namespace {

constexpr double kWorthwhile = 1 + kWorthwhileGain;  // the planner's own threshold for moving a running job

// Whether the objective is better served, by enough to move a running job.
bool is_worthwhile(const Objective& objective, const PlanSummary& now, const Estimate& then) {
  if (std::holds_alternative<MinimizeCost>(objective)) {
    return then.cost_per_iteration().value() * kWorthwhile < now.cost_per_iteration();
  }
  return now.iteration_seconds > then.iteration.value() * kWorthwhile;
}

OlderRecord older_of(const Generation& generation) {
  OlderRecord older{generation.generation, generation.is_leased, Time(), generation.members};
  std::erase_if(older.members, [](const Member& member) { return member.leaves; });
  return older;
}

}  // namespace

std::string gpus_of(const Plan& plan) {
  std::string text;
  for (const auto& [pool, gpus] : gpus_by_pool(plan))
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", gpus, to_string(pool));
  return text;
}

const PlanAnswer* JobDecision::ask(const std::vector<UsableNode>& nodes, const std::optional<Plan>& current,
                                   Urgency urgency) {
  const bool is_urgent = urgency == Urgency::kStandsStill;
  PlanQuestion question{*observation_.job.spec, cluster_of(nodes, observation_.cluster), current, observation_.profiles,
                        is_urgent};
  const auto known = std::ranges::find(observation_.answers, question, &PlanAnswer::question);
  if (known != observation_.answers.end()) return &*known;
  decision_.actions.emplace_back(AskPlanner{std::move(question)});
  return nullptr;
}

// Nodes that there are, and only if they do not do, also those that pools may be scaled up by.
const PlanAnswer* JobDecision::ask_growing(const NodeQuery& question, const std::optional<Plan>& current) {
  const PlanAnswer* answer = ask(usable_nodes(observation_, question), current);
  if (answer == nullptr || answer->result) return answer;
  NodeQuery wider = question;
  wider.scope = NodeScope::kGrowable;
  const auto nodes = usable_nodes(observation_, wider);
  const bool grows = std::ranges::any_of(nodes, [](const UsableNode& node) { return node.node.empty(); });
  return grows ? ask(nodes, current) : answer;
}

std::set<std::string> JobDecision::pod_names() const {
  std::set<std::string> names;
  for (const PodView& pod : observation_.pods) names.insert(pod.name);
  return names;
}

GenerationRecord JobDecision::successor(const std::string& reason, const std::string& message) const {
  GenerationRecord next = record_.value_or(GenerationRecord{});
  const bool continues_restart =
      next.releases_gpus && !waits_until_wanted(next);  // its cause is still the one that parked the job
  next.job_uid = observation_.job.uid;
  next.job_generation = observation_.job.generation;
  if (!continues_restart) {
    next.from_generation = next.generation;
    next.from_gpus = record_ && !record_->releases_gpus ? gpu_count(record_->plan) : 0;
    next.caused_at = record_ ? first_sign(observation_, *record_) : observation_.now;
  }
  if (next.is_committed() && !next.releases_gpus) next.older.push_back(older_of(next));
  next.last_issued = std::max(next.last_issued, next.generation) + 1;
  next.generation = next.last_issued;
  next.members.clear();
  next.is_leased = false;
  next.running.reset();
  next.rendezvous = 0;
  next.releases_gpus = false;
  next.reason = reason;
  next.message = message;
  next.asked_at = observation_.now;
  next.decided_at = observation_.now;
  next.committed_at = Time();
  next.unresponsive_at_step = std::max(next.unresponsive_at_step, furthest_unresponsive_step(observation_));
  expire_quarantine(next);
  return next;
}

// Nodes that have shown a heartbeat since, or are gone.
void JobDecision::expire_quarantine(GenerationRecord& record) const {
  std::erase_if(record.quarantined_nodes, [&](const QuarantinedNode& quarantined) {
    return std::ranges::none_of(observation_.cluster.nodes, [&](const NodeView& node) {
      const bool is_open =
          is_in_force(quarantined, node, observation_.now) || is_remembered(quarantined, observation_.now);
      return node.uid == quarantined.node_uid && is_open;
    });
  });
}

// Who has a slot again is asked like any other, and so is its state once it leaves.
void JobDecision::begin_generation(GenerationRecord next) {
  std::erase_if(next.unreachable_pods, [&](const std::string& uid) {
    const auto pod = std::ranges::find(observation_.pods, uid, &PodView::uid);
    const auto& slots = next.placement.slots;
    return pod == observation_.pods.end() || std::ranges::find(slots, pod->name, &Slot::pod) != slots.end();
  });
  decision_.actions.emplace_back(WriteRecord{next});
  record_ = std::move(next);
}

bool JobDecision::adopt(const PlanAnswer& answer, const NodeQuery& question, const std::string& reason,
                        const std::string& message) {
  const PlannedJob& planned = *answer.result;
  NodeQuery places = question;
  auto nodes = usable_nodes(observation_, places);
  if (cluster_of(nodes, observation_.cluster) != answer.question.cluster) {
    places.scope = NodeScope::kGrowable;
    nodes = usable_nodes(observation_, places);
  }
  auto placement = place({observation_.job.key.name, planned.plan, nodes, observation_.cluster, pod_names()});
  if (!placement) {
    explain_waiting(placement.error(), answer.question.cluster);
    return false;
  }
  GenerationRecord next = successor(reason, message);
  if (answer.asked_at >= next.caused_at) next.asked_at = answer.asked_at;  // otherwise the answer was there already
  if (record_ && record_->releases_gpus && places.replaces_pods) next.min_pod_generation = next.generation;
  if (trains() && is_voluntary(reason)) next.running = static_cast<const Generation&>(*record_);
  next.plan = planned.plan;
  next.schedule_times = planned.schedule_times;
  next.summary = summary_of(planned.estimate, planned.bound_throughput > 0 ? planned.bound_ratio() : 0);
  next.placement = std::move(*placement);
  begin_generation(std::move(next));
  return true;
}

void JobDecision::explain_waiting(const Error& error, const ClusterState& cluster) {
  const bool lacks_gpus = cluster.free_gpus() < observation_.job.spec->resources.min_gpus;
  conditions_.planned = no(lacks_gpus ? "WaitingForCapacity" : "PlanInfeasible", error.message);
}

void JobDecision::start_first() {
  const NodeQuery question{NodeScope::kExisting, {}, false};
  const PlanAnswer* answer = ask_growing(question, std::nullopt);
  if (answer == nullptr) {
    conditions_.planned = no("Planning", "The planner is looking for the best plan.");
  } else if (!answer->result) {
    explain_waiting(answer->result.error(), answer->question.cluster);
  } else {
    adopt(*answer, question, "Started", fmt::format("The first plan: {}.", gpus_of(answer->result->plan)));
  }
}

// What is there at once; if that does not do, whatever can be had. If nothing does, the state is saved while it can be.
void JobDecision::answer_disruption(const Disruption& disruption) {
  for (const QuarantinedNode& quarantined : disruption.nodes_to_quarantine) {
    if (!quarantined.node_uid.empty()) record_->quarantined_nodes.push_back(quarantined);
  }
  record_->unreachable_pods.insert(disruption.unreachable_pods.begin(), disruption.unreachable_pods.end());
  if (disruption.kind == Disruption::Kind::kConnectionLost) {
    begin_generation(successor(disruption.reason, disruption.message));
    return;
  }
  if (observation_.job.spec->elasticity != ElasticityMode::kLive) {
    release_gpus(disruption.reason, disruption.message);
    return;
  }
  NodeQuery question{NodeScope::kSurvivors, disruption.pods, false};
  const bool has_survivors = !usable_nodes(observation_, question).empty();
  const PlanAnswer* answer =
      has_survivors ? ask(usable_nodes(observation_, question), record_->plan, Urgency::kStandsStill) : nullptr;
  if (!has_survivors || (answer != nullptr && !answer->result)) {
    question.scope = NodeScope::kExisting;
    answer = ask_growing(question, std::nullopt);
  }
  if (answer == nullptr) {
    is_failure_open_ = true;
    return;
  }
  if (answer->result) {
    adopt(*answer, question, disruption.reason, disruption.message);
    return;
  }
  const Error& error = answer->result.error();
  if (can_save()) release_gpus("WaitingForCapacity", fmt::format("{}, and {}", disruption.message, error.message));
  explain_waiting(error, answer->question.cluster);
}

void JobDecision::follow_spec() {
  const bool restarts = observation_.job.spec->elasticity == ElasticityMode::kRestart;
  const NodeQuery question{NodeScope::kExisting, {}, restarts};
  const bool keeps_plan = observation_.job.spec->elasticity == ElasticityMode::kOff;
  const PlanAnswer* answer = keeps_plan ? nullptr : ask(usable_nodes(observation_, question), record_->plan);
  if (answer != nullptr && !answer->result) {
    explain_waiting(answer->result.error(), answer->question.cluster);
    return;
  }
  if (!keeps_plan && answer == nullptr) return;
  if (keeps_plan || answer->result->plan == record_->plan) {
    record_->job_generation = observation_.job.generation;
    decision_.actions.emplace_back(WriteRecord{*record_});
    return;
  }
  const std::string message = "The job's spec has changed.";
  if (restarts) {
    release_gpus("SpecChanged", message);
  } else {
    adopt(*answer, question, "SpecChanged", message);
  }
}

// A voluntary change: only of a job that trains, not soon after another change, and only for a gain that is worth it.
void JobDecision::use_new_capacity() {
  const ElasticityMode mode = observation_.job.spec->elasticity;
  if (mode == ElasticityMode::kOff || !trains()) return;
  const auto quiet_until = record_->decided_at + observation_.settings.cool_down;
  if (observation_.now < quiet_until) {
    requeue(quiet_until - observation_.now);
    return;
  }
  const NodeQuery question{NodeScope::kExisting, {}, mode == ElasticityMode::kRestart};
  const PlanAnswer* answer = ask(usable_nodes(observation_, question), record_->plan);
  if (answer == nullptr || !answer->result || answer->result->plan == record_->plan) return;
  if (!is_worthwhile(observation_.job.spec->objective, record_->summary, answer->result->estimate)) return;
  const std::string message = fmt::format("A better plan has become possible: {}.", gpus_of(answer->result->plan));
  if (mode == ElasticityMode::kRestart) {
    release_gpus("ScaleUpOpportunity", message);
  } else {
    adopt(*answer, question, "ScaleUpOpportunity", message);
  }
}

// Nodes that are given another chance: no event tells of the moment.
void JobDecision::await_end_of_quarantine() {
  for (const QuarantinedNode& quarantined : record_->quarantined_nodes) {
    const Time then = std::max(quarantined.until, trusted_again_at(quarantined));
    if (then > observation_.now) requeue(then - observation_.now);
  }
}

}  // namespace sailor
