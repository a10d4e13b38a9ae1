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

const PlanAnswer* JobDecision::ask(const std::vector<Candidate>& nodes, const std::optional<Plan>& current,
                                   Urgency urgency) {
  const bool is_urgent = urgency == Urgency::kStandsStill;
  PlanQuestion question{*seen_.job.spec, cluster_of(nodes, seen_.cluster), current, seen_.profiles, is_urgent};
  const auto known = std::ranges::find(seen_.answers, question, &PlanAnswer::question);
  if (known != seen_.answers.end()) return &*known;
  decision_.actions.emplace_back(AskPlanner{std::move(question)});
  return nullptr;
}

// Nodes that there are, and only if they do not do, also those that pools may be scaled up by.
const PlanAnswer* JobDecision::ask_growing(const CapacityQuestion& question, const std::optional<Plan>& current) {
  const PlanAnswer* answer = ask(candidates(seen_, question), current);
  if (answer == nullptr || answer->result) return answer;
  CapacityQuestion wider = question;
  wider.scope = Scope::kGrowable;
  const auto nodes = candidates(seen_, wider);
  const bool grows = std::ranges::any_of(nodes, [](const Candidate& node) { return node.node.empty(); });
  return grows ? ask(nodes, current) : answer;
}

std::set<std::string> JobDecision::pod_names() const {
  std::set<std::string> names;
  for (const PodView& pod : seen_.pods) names.insert(pod.name);
  return names;
}

GenerationRecord JobDecision::successor(const std::string& reason, const std::string& message) const {
  GenerationRecord next = record_.value_or(GenerationRecord{});
  const bool continues_restart = next.parks && !is_pause(next);  // its cause is still the one that parked the job
  next.job_uid = seen_.job.uid;
  next.job_generation = seen_.job.generation;
  if (!continues_restart) {
    next.from_generation = next.generation;
    next.from_gpus = record_ && !record_->parks ? gpu_count(record_->plan) : 0;
    next.caused = record_ ? first_sign(seen_, *record_) : seen_.now;
  }
  if (next.is_sealed() && !next.parks) next.older.push_back(older_of(next));
  next.issued = std::max(next.issued, next.generation) + 1;
  next.generation = next.issued;
  next.members.clear();
  next.is_leased = false;
  next.running.reset();
  next.rendezvous = 0;
  next.parks = false;
  next.reason = reason;
  next.message = message;
  next.asked = seen_.now;
  next.decided = seen_.now;
  next.sealed = Time();
  next.silent_at = std::max(next.silent_at, step_of_silence(seen_));
  forgive_suspects(next);
  return next;
}

// Nodes that have shown a heartbeat since, or are gone.
void JobDecision::forgive_suspects(GenerationRecord& record) const {
  std::erase_if(record.suspects, [&](const Suspect& suspect) {
    return std::ranges::none_of(seen_.cluster.nodes, [&](const NodeView& node) {
      const bool is_open = is_suspected(suspect, node, seen_.now) || is_remembered(suspect, seen_.now);
      return node.uid == suspect.node_uid && is_open;
    });
  });
}

// Who has a slot again is asked like any other, and so is its state once it leaves.
void JobDecision::begin_generation(GenerationRecord next) {
  std::erase_if(next.out_of_reach, [&](const std::string& uid) {
    const auto pod = std::ranges::find(seen_.pods, uid, &PodView::uid);
    const auto& slots = next.placement.slots;
    return pod == seen_.pods.end() || std::ranges::find(slots, pod->name, &Slot::pod) != slots.end();
  });
  decision_.actions.emplace_back(WriteRecord{next});
  record_ = std::move(next);
}

bool JobDecision::adopt(const PlanAnswer& answer, const CapacityQuestion& question, const std::string& reason,
                        const std::string& message) {
  const PlannedJob& planned = *answer.result;
  CapacityQuestion places = question;
  auto nodes = candidates(seen_, places);
  if (cluster_of(nodes, seen_.cluster) != answer.question.cluster) {
    places.scope = Scope::kGrowable;
    nodes = candidates(seen_, places);
  }
  auto placement = place({seen_.job.key.name, planned.plan, nodes, seen_.cluster, pod_names()});
  if (!placement) {
    explain_waiting(placement.error(), answer.question.cluster);
    return false;
  }
  GenerationRecord next = successor(reason, message);
  if (answer.asked >= next.caused) next.asked = answer.asked;  // otherwise the answer was there already
  if (record_ && record_->parks && places.replaces_pods) next.fresh_from = next.generation;
  if (trains() && is_voluntary(reason)) next.running = static_cast<const Generation&>(*record_);
  next.plan = planned.plan;
  next.schedule_times = planned.schedule_times;
  next.summary = summary_of(planned.estimate, planned.bound_throughput > 0 ? planned.bound_ratio() : 0);
  next.placement = std::move(*placement);
  begin_generation(std::move(next));
  return true;
}

void JobDecision::explain_waiting(const Error& error, const ClusterState& cluster) {
  const bool lacks_gpus = cluster.free_gpus() < seen_.job.spec->resources.min_gpus;
  conditions_.planned = no(lacks_gpus ? "WaitingForCapacity" : "PlanInfeasible", error.message);
}

void JobDecision::start_first() {
  const CapacityQuestion question{Scope::kExisting, {}, false};
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
void JobDecision::answer_trouble(const Trouble& trouble) {
  for (const Suspect& suspect : trouble.new_suspects) {
    if (!suspect.node_uid.empty()) record_->suspects.push_back(suspect);
  }
  record_->out_of_reach.insert(trouble.out_of_reach.begin(), trouble.out_of_reach.end());
  if (trouble.kind == Trouble::Kind::kRegroup) {
    begin_generation(successor(trouble.reason, trouble.message));
    return;
  }
  if (seen_.job.spec->elasticity != ElasticityMode::kLive) {
    park(trouble.reason, trouble.message);
    return;
  }
  CapacityQuestion question{Scope::kSurvivors, trouble.pods, false};
  const bool has_survivors = !candidates(seen_, question).empty();
  const PlanAnswer* answer =
      has_survivors ? ask(candidates(seen_, question), record_->plan, Urgency::kStandsStill) : nullptr;
  if (!has_survivors || (answer != nullptr && !answer->result)) {
    question.scope = Scope::kExisting;
    answer = ask_growing(question, std::nullopt);
  }
  if (answer == nullptr) {
    is_failure_open_ = true;
    return;
  }
  if (answer->result) {
    adopt(*answer, question, trouble.reason, trouble.message);
    return;
  }
  const Error& error = answer->result.error();
  if (can_save()) park("WaitingForCapacity", fmt::format("{}, and {}", trouble.message, error.message));
  explain_waiting(error, answer->question.cluster);
}

void JobDecision::follow_spec() {
  const bool restarts = seen_.job.spec->elasticity == ElasticityMode::kRestart;
  const CapacityQuestion question{Scope::kExisting, {}, restarts};
  const bool keeps_plan = seen_.job.spec->elasticity == ElasticityMode::kOff;
  const PlanAnswer* answer = keeps_plan ? nullptr : ask(candidates(seen_, question), record_->plan);
  if (answer != nullptr && !answer->result) {
    explain_waiting(answer->result.error(), answer->question.cluster);
    return;
  }
  if (!keeps_plan && answer == nullptr) return;
  if (keeps_plan || answer->result->plan == record_->plan) {
    record_->job_generation = seen_.job.generation;
    decision_.actions.emplace_back(WriteRecord{*record_});
    return;
  }
  const std::string message = "The job's spec has changed.";
  if (restarts) {
    park("SpecChanged", message);
  } else {
    adopt(*answer, question, "SpecChanged", message);
  }
}

// A voluntary change: only of a job that trains, not soon after another change, and only for a gain that is worth it.
void JobDecision::use_new_capacity() {
  const ElasticityMode mode = seen_.job.spec->elasticity;
  if (mode == ElasticityMode::kOff || !trains()) return;
  const auto quiet_until = record_->decided + seen_.settings.cool_down;
  if (seen_.now < quiet_until) {
    requeue(quiet_until - seen_.now);
    return;
  }
  const CapacityQuestion question{Scope::kExisting, {}, mode == ElasticityMode::kRestart};
  const PlanAnswer* answer = ask(candidates(seen_, question), record_->plan);
  if (answer == nullptr || !answer->result || answer->result->plan == record_->plan) return;
  if (!is_worthwhile(seen_.job.spec->objective, record_->summary, answer->result->estimate)) return;
  const std::string message = fmt::format("A better plan has become possible: {}.", gpus_of(answer->result->plan));
  if (mode == ElasticityMode::kRestart) {
    park("ScaleUpOpportunity", message);
  } else {
    adopt(*answer, question, "ScaleUpOpportunity", message);
  }
}

// Nodes that are given another chance: no event tells of the moment.
void JobDecision::await_suspects() {
  for (const Suspect& suspect : record_->suspects) {
    const Time then = std::max(suspect.until, trusted_from(suspect));
    if (then > seen_.now) requeue(then - seen_.now);
  }
}

}  // namespace sailor
