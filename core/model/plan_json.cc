#include "core/model/plan_json.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/json_reader.h"
#include "core/model/size_limits.h"

namespace sailor {
namespace {

constexpr int kMaxReplicas = 1 << 16;  // the limit for one stage

constexpr std::string_view kPlanFields[] = {"model",
                                            "globalBatchSize",
                                            "microbatchSize",
                                            "stages",
                                            "activationCheckpointing",
                                            "shardedOptimizer",
                                            "sequenceParallelism",
                                            "peerReplicas"};
constexpr std::string_view kStageFields[] = {"layers", "replicas"};
constexpr std::string_view kReplicaFields[] = {"pool", "tensorParallel", "microbatches", "count"};

Result<void> check_known(const Json& object, const std::string& path, std::span<const std::string_view> fields) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(fields, key) != fields.end()) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}.{}: is not a field here; the fields are {}", path, key, fmt::join(fields, ", ")));
  }
  return {};
}

Json replica_json(const Replica& replica) {
  return {{"pool", to_string(replica.pool)},
          {"tensorParallel", replica.tensor_parallel},
          {"microbatches", replica.microbatches}};
}

Json list_of(const std::vector<Replica>& replicas) {
  Json list = Json::array();
  for (const Replica& replica : replicas) list.push_back(replica_json(replica));
  return list;
}

Json runs_of(const std::vector<Replica>& replicas) {
  Json runs = Json::array();
  int alike = 0;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    alike = i > 0 && replicas[i] == replicas[i - 1] ? alike + 1 : 1;
    if (alike == 1) runs.push_back(replica_json(replicas[i]));
    if (alike > 1) runs.back()["count"] = alike;
  }
  return runs;
}

template <class Write>
Json plan_json(const Plan& plan, Write write_replicas) {
  Json stages = Json::array();
  for (const Stage& stage : plan.stages) {
    stages.push_back({{"layers", {stage.first_layer, stage.last_layer}}, {"replicas", write_replicas(stage.replicas)}});
  }
  Json json = {{"model", plan.model},
               {"globalBatchSize", plan.global_batch_size},
               {"microbatchSize", plan.microbatch_size},
               {"stages", std::move(stages)}};
  // Options are written only if they are on, so that adding an option does not change the hash of plans without it.
  if (plan.activation_checkpointing) json["activationCheckpointing"] = true;
  if (plan.sharded_optimizer) json["shardedOptimizer"] = true;
  if (plan.peer_replicas) json["peerReplicas"] = true;
  if (plan.sequence_parallelism) json["sequenceParallelism"] = true;
  return json;
}

// Returns `count` equal replicas.
Result<std::vector<Replica>> replicas_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  const int count = reader.value_or("count", 1);
  if (count < 1 || count > kMaxReplicas) {
    reader.record("count", fmt::format("{} is not between 1 and {}", count, kMaxReplicas));
  }
  const auto pool = reader.required<std::string>("pool");
  const int tensor_parallel = reader.value_or("tensorParallel", 1);
  const int microbatches = reader.required<int>("microbatches");
  if (tensor_parallel < 1) reader.record("tensorParallel", fmt::format("{} is below 1", tensor_parallel));
  if (tensor_parallel > kMostGpusOfANode) {
    reader.record("tensorParallel",
                  fmt::format("{} is above {}, the most GPUs that a node can have", tensor_parallel, kMostGpusOfANode));
  }
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  auto key = parse_pool_key(pool);
  if (!key) return tl::unexpected(std::move(key.error()).within(path + ".pool"));
  return std::vector<Replica>(static_cast<std::size_t>(count), {*std::move(key), tensor_parallel, microbatches});
}

Result<Stage> stage_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  const auto layers = reader.required<std::vector<int>>("layers");
  if (!reader.error() && layers.size() != 2) reader.record("layers", "expected two numbers: [first, last)");
  const Json& replicas = reader.list("replicas");
  if (replicas.empty()) reader.record("replicas", "expected at least one replica");
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  Stage stage{layers[0], layers[1], {}};
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const auto alike = replicas_from_json(replicas[i], fmt::format("{}.replicas[{}]", path, i));
    if (!alike) return tl::unexpected(alike.error());
    stage.replicas.insert(stage.replicas.end(), alike->begin(), alike->end());
    if (std::ssize(stage.replicas) > kMaxReplicas) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: a stage has at most {} replicas", reader.path_of("replicas"), kMaxReplicas));
    }
  }
  return stage;
}

Json memory_json(const MemoryBreakdown& memory) {
  return {{"weights", memory.weights.value()},         {"gradients", memory.gradients.value()},
          {"optimizer", memory.optimizer.value()},     {"communication", memory.communication.value()},
          {"activations", memory.activations.value()}, {"workspace", memory.workspace.value()}};
}

}  // namespace

Json to_json(const Plan& plan) { return plan_json(plan, list_of); }
Json to_compact_json(const Plan& plan) { return plan_json(plan, runs_of); }

Result<Plan> plan_from_json(const Json& json) {
  JsonReader reader(json, "plan");
  Plan plan{.model = reader.required<std::string>("model"),
            .global_batch_size = reader.required<int>("globalBatchSize"),
            .microbatch_size = reader.required<int>("microbatchSize"),
            .stages = {},
            .activation_checkpointing = reader.value_or("activationCheckpointing", false),
            .sharded_optimizer = reader.value_or("shardedOptimizer", false),
            .sequence_parallelism = reader.value_or("sequenceParallelism", false),
            .peer_replicas = reader.value_or("peerReplicas", false)};
  const Json& stages = reader.list("stages");
  if (stages.empty()) reader.record("stages", "expected at least one stage");
  if (plan.microbatch_size < 1) reader.record("microbatchSize", "it must be at least 1");
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto stage = stage_from_json(stages[i], fmt::format("plan.stages[{}]", i));
    if (!stage) return tl::unexpected(stage.error());
    plan.stages.push_back(*std::move(stage));
  }
  return plan;
}

Result<Plan> plan_of_known_fields(const Json& json) {
  auto plan = plan_from_json(json);
  if (!plan) return plan;
  auto known = check_known(json, "plan", kPlanFields);
  const Json& stages = json.at("stages");
  for (std::size_t i = 0; known && i < stages.size(); ++i) {
    const std::string path = fmt::format("plan.stages[{}]", i);
    known = check_known(stages[i], path, kStageFields);
    const Json& replicas = stages[i].at("replicas");
    for (std::size_t k = 0; known && k < replicas.size(); ++k) {
      known = check_known(replicas[k], fmt::format("{}.replicas[{}]", path, k), kReplicaFields);
    }
  }
  if (!known) return tl::unexpected(std::move(known.error()));
  return plan;
}

Json to_json(const Estimate& estimate) {
  Json gpus = Json::object();
  for (const auto& [pool, count] : estimate.gpus) gpus[to_string(pool)] = count;
  Json peaks = Json::array();
  Json memory = Json::array();
  for (const MemoryBreakdown& stage : estimate.memory) {
    peaks.push_back(stage.total().value());
    memory.push_back(memory_json(stage));
  }
  return {{"iterationSeconds", estimate.iteration.value()},
          {"throughput", estimate.throughput()},
          {"tokensPerSecond", estimate.tokens_per_second},
          {"costPerIteration", estimate.cost_per_iteration().value()},
          {"gpuCostPerIteration", estimate.gpu_cost_per_iteration.value()},
          {"trafficCostPerIteration", estimate.traffic_cost_per_iteration.value()},
          {"costPerHour", estimate.cost_per_hour.value()},
          {"gpus", std::move(gpus)},
          {"peakMemoryBytes", std::move(peaks)},
          {"memory", std::move(memory)},
          {"fits", estimate.fits()},
          {"violations", estimate.violations},
          {"notes", estimate.notes},
          {"expectedLoss",
           {{"ratio", estimate.expected_loss.ratio()},
            {"failuresPerHour", estimate.expected_loss.failures_per_hour},
            {"secondsPerFailure", estimate.expected_loss.per_failure.value()},
            {"exposedStages", estimate.expected_loss.exposed_stages}}},
          {"breakdown",
           {{"compute", estimate.time.compute.value()},
            {"bubble", estimate.time.bubble.value()},
            {"pointToPoint", estimate.time.point_to_point.value()},
            {"gradientSync", estimate.time.gradient_sync.value()},
            {"update", estimate.time.update.value()}}}};
}

}  // namespace sailor
