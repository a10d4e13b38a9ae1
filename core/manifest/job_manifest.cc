// Reads a TrainingJob into a JobSpec.
#include <limits>

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/enum_names.h"
#include "core/model/job_json.h"

namespace sailor {
namespace {

constexpr int kBytesVocabulary = 256;

constexpr EnumName<ProvisioningPolicy> kPolicies[] = {{ProvisioningPolicy::kAny, "Any"},
                                                      {ProvisioningPolicy::kSpot, "Spot"},
                                                      {ProvisioningPolicy::kOnDemand, "OnDemand"}};
constexpr EnumName<LookAhead> kLookAheads[] = {
    {LookAhead::kAuto, "Auto"}, {LookAhead::kOff, "Off"}, {LookAhead::kOn, "On"}};
constexpr EnumName<ElasticityMode> kModes[] = {
    {ElasticityMode::kLive, "Live"}, {ElasticityMode::kRestart, "Restart"}, {ElasticityMode::kOff, "Off"}};

template <class T>
void take(JsonReader& reader, Result<T> read, T& into) {
  if (!read) return reader.absorb(read.error());
  into = *std::move(read);
}

void refuse(JsonReader& reader, std::string_view key, std::string_view type) {
  if (reader.has(key))
    reader.record(key, fmt::format("applies to {} only; set type to {} or remove the limit", type, type));
}

std::optional<Dollars> dollars(std::optional<double> amount) {
  return amount ? std::optional(Dollars(*amount)) : std::nullopt;
}

Objective objective_from(JsonReader& reader) {
  const auto type = reader.value_or<std::string>("type", "MaxThroughput");
  if (type == "MinCost") {
    refuse(reader, "maxCostPerIteration", "MaxThroughput");
    refuse(reader, "maxCostPerHour", "MaxThroughput");
    return MinimizeCost{optional_decimal(reader, "minThroughput")};
  }
  if (type != "MaxThroughput") {
    reader.record("type", fmt::format("\"{}\" is unknown; use MaxThroughput or MinCost", type));
  }
  refuse(reader, "minThroughput", "MinCost");
  MaximizeThroughput objective;
  objective.max_cost_per_iteration = dollars(optional_decimal(reader, "maxCostPerIteration"));
  if (const auto hourly = optional_decimal(reader, "maxCostPerHour"))
    objective.max_cost_per_hour = DollarsPerHour(*hourly);
  return objective;
}

int slowdown_from(JsonReader& elasticity) {
  const int percent = elasticity.value_or("streamingSlowdownPercent", kStreamingSlowdownPercent);
  if (percent < 1 || percent > 100) {
    elasticity.record("streamingSlowdownPercent", fmt::format("{} is not between 1 and 100", percent));
  }
  return percent;
}

ResourceSpec resources_from(JsonReader& reader) {
  ResourceSpec resources;
  for (auto& name : reader.value_or<std::vector<std::string>>("accelerators", {})) {
    resources.accelerators.emplace_back(std::move(name));
  }
  for (auto& name : reader.value_or<std::vector<std::string>>("zones", {}))
    resources.zones.emplace_back(std::move(name));
  resources.provisioning = read_enum(reader, "provisioning", kPolicies, resources.provisioning);
  resources.min_gpus = reader.value_or("minGpus", 1);
  resources.max_gpus = reader.optional<int>("maxGpus");
  if (resources.min_gpus < 1) reader.record("minGpus", fmt::format("{} is below 1", resources.min_gpus));
  if (resources.max_gpus && *resources.max_gpus < resources.min_gpus) {
    reader.record("maxGpus", fmt::format("{} is below minGpus {}; raise maxGpus or lower minGpus", *resources.max_gpus,
                                         resources.min_gpus));
  }
  return resources;
}

std::optional<Seconds> optional_seconds(JsonReader& reader, std::string_view key, std::int64_t least) {
  const auto seconds = reader.optional<std::int64_t>(key);
  if (!seconds) return std::nullopt;
  if (*seconds < least) reader.record(key, fmt::format("{} is below {}", *seconds, least));
  return Seconds(static_cast<double>(*seconds));
}

void check_sequence_length(JsonReader& reader, const JobSpec& job) {
  const auto longest = job.model.longest_sequence();
  if (!longest || job.training.sequence_length <= *longest) return;
  reader.record("training.sequenceLength",
                fmt::format("{} exceeds the {} positions of model {}; shorten the sequences or choose another model",
                            job.training.sequence_length, *longest, job.model.name));
}

void check_vocabulary(JsonReader& reader, const JobSpec& job) {
  if (job.data.format != DataFormat::kBytes || job.model.vocab_size >= kBytesVocabulary) return;
  reader.record("data.format",
                fmt::format("Bytes has {} different tokens, but model {} has {}; raise model.config.vocabSize",
                            kBytesVocabulary, job.model.name, job.model.vocab_size));
}

void check_evaluation(JsonReader& reader, const JobSpec& job) {
  if (!job.training.evaluation || job.data.validation) return;
  reader.record("training.evaluation", "evaluation needs data.validation; set its path or fraction");
}

void check_beginning(JsonReader& reader, const JobSpec& job) {
  if (!job.checkpoint.resume_from || job.training.initial_weights.empty()) return;
  reader.record("checkpoint.resumeFrom",
                "the job cannot begin with both training.initialWeights and the state of another job; remove one");
}

}  // namespace

Result<JobSpec> job_from_manifest(const Json& training_job) {
  JsonReader root(training_job, "");
  JsonReader metadata(root.child("metadata"), "metadata");
  JobSpec job;
  job.key = {metadata.value_or<std::string>("namespace", "default"), metadata.required<std::string>("name")};
  JsonReader reader(root.child("spec"), "spec");
  if (const auto& error = metadata.error()) reader.absorb(*error);
  take(reader, model_from_json(reader.child("model"), "spec.model"), job.model);
  if (job.model.name.empty()) job.model.name = job.key.name;  // a configuration without a name
  take(reader, training_from_json(reader.child("training"), "spec.training"), job.training);
  if (reader.has("data")) take(reader, data_from_json(reader.child("data"), "spec.data"), job.data);
  if (reader.has("checkpoint")) {
    take(reader, checkpoint_from_json(reader.child("checkpoint"), "spec.checkpoint"), job.checkpoint);
  }
  JsonReader objective(reader.child("objective"), "spec.objective");
  job.objective = objective_from(objective);
  JsonReader resources(reader.child("resources"), "spec.resources");
  job.resources = resources_from(resources);
  JsonReader elasticity(reader.child("elasticity"), "spec.elasticity");
  job.elasticity = read_enum(elasticity, "mode", kModes, job.elasticity);
  job.redundancy = read_redundancy(elasticity);
  job.look_ahead = read_enum(elasticity, "lookAhead", kLookAheads, job.look_ahead);
  job.streaming_slowdown_percent = slowdown_from(elasticity);
  for (const JsonReader* child : {&objective, &resources, &elasticity}) {
    if (child->error()) reader.absorb(*child->error());
  }
  job.suspend = reader.value_or("suspend", false);
  job.managed_by = reader.value_or<std::string>("managedBy", "");
  job.max_restarts = reader.value_or("maxRestarts", job.max_restarts);
  if (job.max_restarts < 0) reader.record("maxRestarts", fmt::format("{} is below 0", job.max_restarts));
  job.active_deadline = optional_seconds(reader, "activeDeadlineSeconds", 1);
  job.ttl_after_finished = optional_seconds(reader, "ttlSecondsAfterFinished", 0);
  if (!reader.error()) check_sequence_length(reader, job);
  if (!reader.error() && reader.has("data")) check_vocabulary(reader, job);
  if (!reader.error()) check_evaluation(reader, job);
  if (!reader.error()) check_beginning(reader, job);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return job;
}

}  // namespace sailor
