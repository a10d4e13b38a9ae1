#include "operator/model/job_status.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace sailor {
namespace {

using kube::find_at;
using kube::integer_at;
using kube::Json;
using kube::list_at;
using kube::text_at;

std::string_view to_string(Truth truth) {
  if (truth == Truth::kUnknown) return "Unknown";
  return truth == Truth::kTrue ? "True" : "False";
}

Truth truth_from(const std::string& text) {
  if (text == "True") return Truth::kTrue;
  return text == "False" ? Truth::kFalse : Truth::kUnknown;
}

std::optional<std::int64_t> integer_in(const Json& object, std::string_view key) {
  const Json* found = find_at(object, {key});
  return found != nullptr && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::optional<double> decimal_in(const Json& object, std::string_view key) {
  const std::string text = text_at(object, {key});
  return text.empty() ? std::nullopt : std::optional(std::strtod(text.c_str(), nullptr));
}

std::optional<Time> time_in(const Json& object, std::string_view key) { return parse_rfc3339(text_at(object, {key})); }

Reason reason_in(const Json& object) {
  return reason_from_string(text_at(object, {"reason"})).value_or(Reason::kNotYetKnown);
}

std::optional<StateSource> source_in(const Json& object) {
  const std::string text = text_at(object, {"source"});
  for (const StateSource source :
       {StateSource::kStart, StateSource::kMemory, StateSource::kPeerReplica, StateSource::kCheckpoint}) {
    if (to_string(source) == text) return source;
  }
  return std::nullopt;
}

std::vector<std::string> texts_in(const Json& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const Json& text : list_at(object, {key})) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::string seconds_text(double seconds) { return fmt::format("{:.3f}", seconds); }
std::string significant(double value) { return fmt::format("{:.6g}", value); }

Json conditions_json(const std::map<ConditionType, ConditionStatus>& conditions) {
  Json list = Json::array();
  for (const auto& [type, status] : conditions) {
    list.push_back({{"type", to_string(type)},
                    {"status", to_string(status.condition.truth)},
                    {"reason", to_string(status.condition.reason)},
                    {"message", status.condition.message},
                    {"observedGeneration", status.observed_spec_generation},
                    {"lastTransitionTime", status.last_transition ? to_rfc3339(*status.last_transition) : ""}});
  }
  return list;
}

std::map<ConditionType, ConditionStatus> conditions_from(const Json& list) {
  std::map<ConditionType, ConditionStatus> conditions;
  for (const Json& entry : list) {
    const std::string name = text_at(entry, {"type"});
    const auto* type =
        std::ranges::find_if(kConditionTypes, [&](ConditionType candidate) { return to_string(candidate) == name; });
    if (type == kConditionTypes.end()) continue;
    conditions[*type] = {{truth_from(text_at(entry, {"status"})), reason_in(entry), text_at(entry, {"message"})},
                         integer_at(entry, {"observedGeneration"}),
                         time_in(entry, "lastTransitionTime")};
  }
  return conditions;
}

Json plan_json(const PlanStatus& plan) {
  Json gpus = Json::array();
  for (const auto& [pool, count] : plan.gpus) gpus.push_back({{"pool", to_string(pool)}, {"gpus", count}});
  return {{"generation", plan.generation},
          {"hash", plan.hash},
          {"configMap", plan.config_map},
          {"totalGpus", plan.total_gpus},
          {"gpus", std::move(gpus)},
          {"estimate",
           {{"iterationSeconds", significant(plan.iteration_seconds)},
            {"tokensPerSecond", plan.tokens_per_second},
            {"costPerIteration", significant(plan.cost_per_iteration)},
            {"costPerHour", significant(plan.cost_per_hour)}}}};
}

PlanStatus plan_from(const Json& json) {
  PlanStatus plan;
  plan.generation = integer_at(json, {"generation"});
  plan.hash = text_at(json, {"hash"});
  plan.config_map = text_at(json, {"configMap"});
  plan.total_gpus = static_cast<int>(integer_at(json, {"totalGpus"}));
  for (const Json& entry : list_at(json, {"gpus"})) {
    const auto pool = parse_pool_key(text_at(entry, {"pool"}));
    if (pool) plan.gpus[*pool] = static_cast<int>(integer_at(entry, {"gpus"}));
  }
  const Json* estimate = find_at(json, {"estimate"});
  if (estimate == nullptr) return plan;
  plan.iteration_seconds = decimal_in(*estimate, "iterationSeconds").value_or(0);
  plan.tokens_per_second = integer_at(*estimate, {"tokensPerSecond"});
  plan.cost_per_iteration = decimal_in(*estimate, "costPerIteration").value_or(0);
  plan.cost_per_hour = decimal_in(*estimate, "costPerHour").value_or(0);
  return plan;
}

Json progress_json(const ProgressStatus& progress) {
  Json json = {{"dollarsSpent", fmt::format("{:.6f}", progress.dollars_spent)},
               {"trafficDollars", fmt::format("{:.6f}", progress.traffic_dollars)},
               {"savedDollars", fmt::format("{:.6f}", progress.saved_dollars)},
               {"elapsedSeconds", seconds_text(progress.elapsed_seconds)},
               {"usefulSeconds", seconds_text(progress.useful_seconds)}};
  for (const auto& [cause, seconds] : progress.lost_seconds) {
    json["lostSeconds"][to_string(cause)] = seconds_text(seconds);
  }
  if (progress.dollars_per_hour > 0) json["dollarsPerHour"] = fmt::format("{:.4f}", progress.dollars_per_hour);
  if (progress.time) json["time"] = to_rfc3339_micro(*progress.time);
  if (progress.furthest_step) json["furthestStep"] = *progress.furthest_step;
  if (progress.total_steps) {
    json["totalSteps"] = *progress.total_steps;
    json["completion"] = fmt::format("{}/{}", progress.newest ? progress.newest->step : 0, *progress.total_steps);
  }
  if (!progress.newest) return json;
  const StepStatus& newest = *progress.newest;
  json["step"] = newest.step;
  json["loss"] = fmt::format("{:.4f}", newest.loss);
  json["firstLoss"] = fmt::format("{:.4f}", newest.first_loss);
  if (newest.validation_loss) json["validationLoss"] = fmt::format("{:.4f}", *newest.validation_loss);
  json["stepsSkipped"] = newest.steps_skipped;
  if (newest.tokens_per_second > 0) json["tokensPerSecond"] = newest.tokens_per_second;
  if (newest.began_at_step > 0) json["beganAtStep"] = newest.began_at_step;
  json["tokens"] = newest.tokens;
  json["lastCheckpointStep"] = newest.last_checkpoint_step;
  json["stepsLost"] = newest.steps_lost;
  return json;
}

std::map<LostCause, double> lost_seconds_from(const Json& progress) {
  std::map<LostCause, double> seconds;
  const Json* lost = find_at(progress, {"lostSeconds"});
  if (lost == nullptr) return seconds;
  for (const LostCause cause : kLostCauses) {
    if (const auto found = decimal_in(*lost, std::string(to_string(cause)))) seconds[cause] = *found;
  }
  return seconds;
}

ProgressStatus progress_from(const Json& json) {
  ProgressStatus progress;
  progress.time = time_in(json, "time");
  progress.dollars_spent = decimal_in(json, "dollarsSpent").value_or(0);
  progress.elapsed_seconds = decimal_in(json, "elapsedSeconds").value_or(0);
  progress.useful_seconds = decimal_in(json, "usefulSeconds").value_or(0);
  progress.traffic_dollars = decimal_in(json, "trafficDollars").value_or(0);
  progress.dollars_per_hour = decimal_in(json, "dollarsPerHour").value_or(0);
  progress.saved_dollars = decimal_in(json, "savedDollars").value_or(0);
  progress.lost_seconds = lost_seconds_from(json);
  progress.furthest_step = integer_in(json, "furthestStep");
  progress.total_steps = integer_in(json, "totalSteps");
  const auto step = integer_in(json, "step");
  if (!step) return progress;
  progress.newest = {.step = *step,
                     .loss = decimal_in(json, "loss").value_or(0),
                     .first_loss = decimal_in(json, "firstLoss").value_or(0),
                     .validation_loss = decimal_in(json, "validationLoss"),
                     .steps_skipped = integer_at(json, {"stepsSkipped"}),
                     .tokens_per_second = integer_at(json, {"tokensPerSecond"}),
                     .began_at_step = integer_at(json, {"beganAtStep"}),
                     .tokens = integer_at(json, {"tokens"}),
                     .last_checkpoint_step = integer_at(json, {"lastCheckpointStep"}),
                     .steps_lost = integer_at(json, {"stepsLost"})};
  return progress;
}

Json rescale_json(const RescaleStatus& rescale) {
  Json parts = Json::object();
  for (const auto& [part, seconds] : rescale.parts) parts[std::string(to_string(part))] = seconds_text(seconds);
  Json json = {{"time", to_rfc3339(rescale.time)},
               {"reason", to_string(rescale.reason)},
               {"message", rescale.message},
               {"fromGeneration", rescale.from_generation},
               {"toGeneration", rescale.to_generation},
               {"fromGpus", rescale.from_gpus},
               {"toGpus", rescale.to_gpus},
               {"parts", std::move(parts)}};
  if (rescale.is_withdrawn) json["withdrawn"] = true;
  if (rescale.is_interrupted) json["interrupted"] = true;
  if (rescale.seconds) json["seconds"] = seconds_text(*rescale.seconds);
  if (rescale.stopped_seconds) json["stoppedSeconds"] = seconds_text(*rescale.stopped_seconds);
  if (rescale.steps_lost) json["stepsLost"] = *rescale.steps_lost;
  if (rescale.source) json["source"] = to_string(*rescale.source);
  if (rescale.streamed_bytes) json["followedBytes"] = *rescale.streamed_bytes;
  if (rescale.moved_bytes) json["movedBytes"] = *rescale.moved_bytes;
  return json;
}

RescaleStatus rescale_from(const Json& json) {
  RescaleStatus rescale;
  rescale.time = time_in(json, "time").value_or(Time());
  rescale.reason = reason_in(json);
  rescale.message = text_at(json, {"message"});
  rescale.from_generation = integer_at(json, {"fromGeneration"});
  rescale.to_generation = integer_at(json, {"toGeneration"});
  rescale.from_gpus = static_cast<int>(integer_at(json, {"fromGpus"}));
  rescale.to_gpus = static_cast<int>(integer_at(json, {"toGpus"}));
  if (const Json* parts = find_at(json, {"parts"})) {
    for (const RescalePart part : kRescaleParts) {
      if (const auto seconds = decimal_in(*parts, to_string(part))) rescale.parts[part] = *seconds;
    }
  }
  rescale.is_withdrawn = kube::bool_at(json, {"withdrawn"});
  rescale.is_interrupted = kube::bool_at(json, {"interrupted"});
  rescale.seconds = decimal_in(json, "seconds");
  rescale.stopped_seconds = decimal_in(json, "stoppedSeconds");
  rescale.steps_lost = integer_in(json, "stepsLost");
  rescale.source = source_in(json);
  rescale.streamed_bytes = integer_in(json, "followedBytes");
  rescale.moved_bytes = integer_in(json, "movedBytes");
  return rescale;
}

}  // namespace

std::string_view to_string(RescalePart part) {
  constexpr std::array<std::string_view, kRescaleParts.size()> kNames = {"detect",  "plan",     "pods",     "push",
                                                                         "regroup", "transfer", "firstStep"};
  return kNames.at(static_cast<std::size_t>(part));
}

const ConditionStatus* JobStatus::find(ConditionType type) const {
  const auto found = conditions.find(type);
  return found == conditions.end() ? nullptr : &found->second;
}

bool JobStatus::is_true(ConditionType type) const {
  const ConditionStatus* found = find(type);
  return found != nullptr && found->condition.truth == Truth::kTrue;
}

bool JobStatus::has_ended() const { return is_true(ConditionType::kComplete) || is_true(ConditionType::kFailed); }

bool JobStatus::has_stopped() const { return has_ended() || is_true(ConditionType::kSuspended); }

JobStatus job_status_from_json(const Json& json) {
  JobStatus status;
  status.observed_spec_generation = integer_at(json, {"observedGeneration"});
  status.state = text_at(json, {"state"});
  status.reason = text_at(json, {"reason"});
  status.conditions = conditions_from(list_at(json, {"conditions"}));
  status.restarts = static_cast<int>(integer_at(json, {"restarts"}));
  status.start_time = time_in(json, "startTime");
  status.completion_time = time_in(json, "completionTime");
  if (const Json* plan = find_at(json, {"plan"})) status.plan = plan_from(*plan);
  if (const Json* progress = find_at(json, {"progress"})) status.progress = progress_from(*progress);
  for (const Json& entry : list_at(json, {"rescales"})) status.rescales.push_back(rescale_from(entry));
  status.unpriced_pools = texts_in(json, "unpricedPools");
  status.pools_of_unknown_accelerators = texts_in(json, "poolsOfUnknownAccelerators");
  status.pools_without_kernels = texts_in(json, "poolsWithoutKernels");
  return status;
}

Json to_json(const JobStatus& status) {
  Json json = {{"observedGeneration", status.observed_spec_generation},
               {"state", status.state},
               {"reason", status.reason},
               {"conditions", conditions_json(status.conditions)},
               {"restarts", status.restarts}};
  if (status.start_time) json["startTime"] = to_rfc3339(*status.start_time);
  if (status.completion_time) json["completionTime"] = to_rfc3339(*status.completion_time);
  if (status.plan && !status.has_stopped()) json["gpus"] = status.plan->total_gpus;
  if (status.plan) json["plan"] = plan_json(*status.plan);
  if (status.progress) json["progress"] = progress_json(*status.progress);
  for (const RescaleStatus& rescale : status.rescales) json["rescales"].push_back(rescale_json(rescale));
  if (!status.unpriced_pools.empty()) json["unpricedPools"] = status.unpriced_pools;
  if (!status.pools_of_unknown_accelerators.empty()) {
    json["poolsOfUnknownAccelerators"] = status.pools_of_unknown_accelerators;
  }
  if (!status.pools_without_kernels.empty()) json["poolsWithoutKernels"] = status.pools_without_kernels;
  return json;
}

}  // namespace sailor
