// Whether there must or may be another generation, and which plan it has.
#include <algorithm>

#include <fmt/format.h>

#include "operator/reconcile/job_decision.h"
#include "operator/reconcile/names.h"

namespace sailor {
namespace {

constexpr double kWorthwhile = 1.05;               // a running job is moved for five per cent, not for less
constexpr auto kQuiet = std::chrono::seconds(10);  // from one generation to the next planned change

// Whether the objective is better served, by enough to move a running job.
bool is_worthwhile(const Objective& objective, const PlanSummary& now, const Estimate& then) {
  if (std::holds_alternative<MinimizeCost>(objective)) {
    return then.cost_per_iteration().value() * kWorthwhile < now.cost_per_iteration();
  }
  return now.iteration_seconds > then.iteration.value() * kWorthwhile;
}

bool was_suspended(const Observation& seen) {
  return std::ranges::any_of(kube::list_at(seen.job.status, {"conditions"}), [](const kube::Json& condition) {
    return kube::text_at(condition, {"type"}) == "Suspended" && kube::text_at(condition, {"status"}) == "True";
  });
}

std::string gpus_of(const Plan& plan) {
  std::string text;
  for (const auto& [pool, gpus] : gpus_by_pool(plan))
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", gpus, to_string(pool));
  return text;
}

}  // namespace

const PlanAnswer* JobDecision::ask(const std::vector<Candidate>& nodes, const std::optional<Plan>& current) {
  PlanQuestion question{*seen_.job.spec, cluster_of(nodes, seen_.cluster), current, seen_.profiles};
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
  next.job_uid = seen_.job.uid;
  next.job_generation = seen_.job.generation;
  next.from_generation = next.generation;
  next.from_gpus = record_ ? gpu_count(record_->plan) : 0;
  ++next.generation;
  next.members.clear();
  next.rendezvous = 0;
  next.reason = reason;
  next.message = message;
  next.decided = seen_.now;
  if (record_ && replaces_pods()) next.fresh_from = next.generation;
  forgive_suspects(next);
  return next;
}

// Nodes that have shown a heartbeat since, or are gone.
void JobDecision::forgive_suspects(GenerationRecord& record) const {
  std::erase_if(record.suspects, [&](const Suspect& suspect) {
    return std::ranges::none_of(seen_.cluster.nodes, [&](const NodeView& node) {
      return node.uid == suspect.node_uid && node.heartbeat <= suspect.since;
    });
  });
}

void JobDecision::begin_generation(GenerationRecord next) {
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
  next.plan = planned.plan;
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

void JobDecision::count_failure(const TrainerFailure& failure) {
  const int restarts = record_->restarts + 1;
  if (restarts > seen_.job.spec->max_restarts) {
    fail_job("TrainerFailed",
             fmt::format("Pod {} failed after {} restarts: {}", failure.pod, record_->restarts, failure.message));
    return;
  }
  GenerationRecord next = successor("TrainerFailed", failure.message);
  next.restarts = restarts;
  next.last_failure = failure.message;
  next.not_before = seen_.now + restart_delay(restarts);
  begin_generation(std::move(next));
}

void JobDecision::answer_trouble(const Trouble& trouble) {
  const ElasticityMode mode = seen_.job.spec->elasticity;
  for (const Suspect& suspect : trouble.new_suspects) {
    if (!suspect.node_uid.empty()) record_->suspects.push_back(suspect);
  }
  if (trouble.kind == Trouble::Kind::kRegroup) {
    begin_generation(successor(trouble.reason, trouble.message));
    return;
  }
  if (mode == ElasticityMode::kOff) {
    wait_for_same_gpus(trouble);
    return;
  }
  const std::string reason = was_suspended(seen_) ? "Resumed" : trouble.reason;
  CapacityQuestion question{Scope::kSurvivors, trouble.pods, false};
  if (mode == ElasticityMode::kRestart) question = {Scope::kExisting, trouble.pods, true};
  // What is there at once; if that does not do, whatever can be had.
  const bool has_survivors = !candidates(seen_, question).empty();
  const PlanAnswer* answer = has_survivors ? ask(candidates(seen_, question), record_->plan) : nullptr;
  if (!has_survivors || (answer != nullptr && !answer->result)) {
    question.scope = Scope::kExisting;
    answer = ask_growing(question, std::nullopt);
  }
  if (answer == nullptr) return;
  if (answer->result) {
    adopt(*answer, question, reason, trouble.message);
  } else {
    explain_waiting(answer->result.error(), answer->question.cluster);
  }
}

// Elasticity Off: the same plan on the same kinds of GPUs, once they are there.
void JobDecision::wait_for_same_gpus(const Trouble& trouble) {
  const auto nodes = candidates(seen_, {Scope::kExisting, trouble.pods, true});
  auto placement = place({seen_.job.key.name, record_->plan, nodes, seen_.cluster, pod_names()});
  if (!placement) {
    conditions_.planned =
        no("WaitingForCapacity", fmt::format("{}; elasticity Off keeps the first plan and waits for its GPUs: {}.",
                                             trouble.message, gpus_of(record_->plan)));
    return;
  }
  GenerationRecord next = successor(was_suspended(seen_) ? "Resumed" : trouble.reason, trouble.message);
  next.placement = std::move(*placement);
  begin_generation(std::move(next));
}

void JobDecision::follow_spec() {
  const CapacityQuestion question{Scope::kExisting, {}, replaces_pods()};
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
  adopt(*answer, question, "SpecChanged", "The job's spec has changed.");
}

// A planned change: only of a job that trains, not soon after another one, and only for a gain that is worth it.
void JobDecision::use_new_capacity() {
  if (seen_.job.spec->elasticity == ElasticityMode::kOff || !record_->is_sealed() || !trains()) return;
  if (seen_.now - record_->decided < kQuiet) {
    requeue(kQuiet - (seen_.now - record_->decided));
    return;
  }
  const CapacityQuestion question{Scope::kExisting, {}, replaces_pods()};
  const auto nodes = candidates(seen_, question);
  const PlanAnswer* answer = ask(nodes, record_->plan);
  if (answer == nullptr || !answer->result || answer->result->plan == record_->plan) return;
  if (!is_worthwhile(seen_.job.spec->objective, record_->summary, answer->result->estimate)) return;
  adopt(*answer, question, "ScaleUpOpportunity",
        fmt::format("A better plan has become possible: {}.", gpus_of(answer->result->plan)));
}

}  // namespace sailor
