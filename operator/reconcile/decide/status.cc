#include "operator/reconcile/decide/status.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/model/plan_hash.h"
#include "operator/model/job_status.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/progress_status.h"
#include "operator/reconcile/decide/rescale_history.h"

namespace sailor {
namespace {

using kube::Json;
using kube::text_at;

constexpr auto kProgressEvery = std::chrono::seconds(2);  // while steps are done
constexpr auto kDollarsEvery = std::chrono::seconds(30);  // while pods run and no step is done
constexpr std::size_t kLongestNote = 1000;                // of an event, which may have 1024 bytes

struct NamedCondition {
  std::string_view type;
  const Condition* condition;
};

std::array<NamedCondition, 8> named(const Conditions& conditions) {
  return {{{"Planned", &conditions.planned},
           {"PodsReady", &conditions.pods_ready},
           {"Running", &conditions.running},
           {"Rescaling", &conditions.rescaling},
           {"Degraded", &conditions.degraded},
           {"Suspended", &conditions.suspended},
           {"Complete", &conditions.complete},
           {"Failed", &conditions.failed}}};
}

std::string_view truth_name(Truth truth) {
  if (truth == Truth::kUnknown) return "Unknown";
  return truth == Truth::kTrue ? "True" : "False";
}

Json conditions_json(const Observation& observation, const Conditions& conditions) {
  Json list = Json::array();
  for (const auto& [type, condition] : named(conditions)) {
    const Json* before = find_condition(observation.job.status, type);
    const bool stays = before != nullptr && text_at(*before, {"status"}) == truth_name(condition->truth);
    list.push_back(
        {{"type", type},
         {"status", truth_name(condition->truth)},
         {"reason", condition->reason},
         {"message", condition->message},
         {"observedGeneration", observation.job.generation},
         {"lastTransitionTime", stays ? text_at(*before, {"lastTransitionTime"}) : to_rfc3339(observation.now)}});
  }
  return list;
}

std::string decimal(double value) { return fmt::format("{:.6g}", value); }

Json plan_status(const GenerationRecord& record, const JobKey& job) {
  Json gpus = Json::array();
  for (const auto& [pool, count] : gpus_by_pool(record.plan))
    gpus.push_back({{"pool", to_string(pool)}, {"gpus", count}});
  const PlanSummary& summary = record.summary;
  return {{"generation", record.generation},
          {"hash", plan_hash(record.plan)},
          {"configMap", record_name(job.name)},
          {"totalGpus", gpu_count(record.plan)},
          {"gpus", std::move(gpus)},
          {"estimate",
           {{"iterationSeconds", decimal(summary.iteration_seconds)},
            {"tokensPerSecond", std::llround(summary.tokens_per_second)},
            {"costPerIteration", decimal(summary.cost_per_iteration())},
            {"costPerHour", decimal(summary.cost_per_hour)}}}};
}

bool is_terminal(const Conditions& conditions) {
  return conditions.complete.truth == Truth::kTrue || conditions.failed.truth == Truth::kTrue;
}

// Everything but progress, rescales and plan.
Json core_status(const Observation& observation, const std::optional<GenerationRecord>& record,
                 const Conditions& conditions) {
  Json status = {{"observedGeneration", observation.job.generation},
                 {"state", state_word(conditions)},
                 {"conditions", conditions_json(observation, conditions)},
                 {"restarts", record ? record->restarts : 0}};
  const std::string start = text_at(observation.job.status, {"startTime"});
  const bool is_suspended = conditions.suspended.truth == Truth::kTrue;
  if (record && !is_suspended) status["startTime"] = start.empty() ? to_rfc3339(observation.now) : start;
  if (is_terminal(conditions)) status["completionTime"] = to_rfc3339(observation.now);
  return status;
}

// Progress alone does not make a write each time a step is done: once in a while will do.
bool is_worth_a_write(const Observation& observation, const Json& wanted) {
  const Json before = observation.job.status.is_object() ? observation.job.status : Json::object();
  const Json was = before.value("progress", Json());
  const Json now = wanted.value("progress", Json());
  Json rest_before = before;
  Json rest_wanted = wanted;
  rest_before.erase("progress");
  rest_wanted.erase("progress");
  if (rest_before != rest_wanted || was.is_null() != now.is_null()) return true;
  const auto written = parse_rfc3339(text_at(was, {"time"}));
  if (!written) return was != now;
  const auto patience = was.value("step", 0L) != now.value("step", 0L) ? kProgressEvery : kDollarsEvery;
  Json then = was;
  then["time"] = text_at(now, {"time"});
  return then != now && observation.now - *written >= patience;
}

// Pools that the job would be allowed to use, and does not, for nobody has told what they cost.
Json unpriced_pools(const Observation& observation) {
  Json list = Json::array();
  for (const PoolKey& pool : observation.cluster.unpriced) {
    if (observation.job.spec && observation.job.spec->resources.allows(pool)) list.push_back(to_string(pool));
  }
  return list;
}

std::vector<EventNote> unpriced_events(const Observation& observation, const Json& now) {
  const Json& before = kube::list_at(observation.job.status, {"unpricedPools"});
  std::vector<EventNote> events;
  for (const Json& pool : now) {
    if (std::ranges::find(before, pool) != before.end()) continue;
    events.push_back(
        {true, "PoolWithoutPrice",
         fmt::format("The nodes of {} are not used: their accelerator has no list price. Declare a GpuPool "
                     "with pricePerGpuHour.",
                     pool.get<std::string>())});
  }
  return events;
}

struct Told {
  std::string_view type;
  Truth truth;
  bool is_warning;
};
// Of these conditions a change is an event.
constexpr std::array<Told, 8> kTold = {{{"Planned", Truth::kTrue, false},
                                        {"Planned", Truth::kFalse, true},
                                        {"Running", Truth::kTrue, false},
                                        {"Rescaling", Truth::kTrue, false},
                                        {"Degraded", Truth::kTrue, true},
                                        {"Suspended", Truth::kTrue, false},
                                        {"Complete", Truth::kTrue, false},
                                        {"Failed", Truth::kTrue, true}}};

// Planning takes a moment and is no news; neither is a plan that ends with its job.
bool is_news(const Condition& condition, std::string_view type) {
  return condition.reason != "Planning" && !(type == "Planned" && condition.reason == "Suspended");
}

std::vector<EventNote> events_of(const Observation& observation, const Conditions& conditions) {
  std::vector<EventNote> events;
  for (const auto& [type, condition] : named(conditions)) {
    const Json* before = find_condition(observation.job.status, type);
    const bool same = before != nullptr && text_at(*before, {"status"}) == truth_name(condition->truth) &&
                      text_at(*before, {"reason"}) == condition->reason &&
                      text_at(*before, {"message"}) == condition->message;
    if (same || !is_news(*condition, type)) continue;
    const auto told = std::ranges::find_if(kTold, [&, name = type, truth = condition->truth](const Told& entry) {
      return entry.type == name && entry.truth == truth;
    });
    if (told == kTold.end()) continue;
    events.push_back({told->is_warning, condition->reason, condition->message.substr(0, kLongestNote)});
  }
  return events;
}

}  // namespace

std::string state_word(const Conditions& conditions) {
  if (conditions.failed.truth == Truth::kTrue) return "Failed";
  if (conditions.complete.truth == Truth::kTrue) return "Complete";
  if (conditions.suspended.truth == Truth::kTrue || conditions.suspended.reason == "Stopping") return "Suspended";
  if (conditions.rescaling.truth == Truth::kTrue) return "Rescaling";
  if (conditions.running.truth == Truth::kTrue) return "Running";
  if (conditions.planned.truth == Truth::kTrue) return "Starting";
  return conditions.planned.reason == "Planning" ? "Pending" : "Waiting";
}

void finish_status(const Observation& observation, const std::optional<GenerationRecord>& record,
                   const Conditions& conditions, Decision& decision) {
  Json status = core_status(observation, record, conditions);
  if (record && !record->releases_gpus) status["plan"] = plan_status(*record, observation.job.key);
  if (Json progress = progress_status(observation, record); !progress.is_null())
    status["progress"] = std::move(progress);
  if (Json rescales = rescales_status(observation, record); !rescales.empty()) status["rescales"] = std::move(rescales);
  Json unpriced = unpriced_pools(observation);
  auto events = unpriced_events(observation, unpriced);
  if (!unpriced.empty()) status["unpricedPools"] = std::move(unpriced);
  if (!is_worth_a_write(observation, status)) return;
  decision.status = std::move(status);
  std::ranges::move(events_of(observation, conditions), std::back_inserter(decision.events));
  std::ranges::move(events, std::back_inserter(decision.events));
}

}  // namespace sailor
