#include "core/manifest/schema.h"

#include <algorithm>
#include <string>

#include "core/manifest/rules.h"
#include "core/model/size_limits.h"

namespace sailor {
namespace {

constexpr bool kRequired = true;
constexpr bool kOptional = false;
using enum FieldType;

constexpr Field kTrainingJob[] = {
    {"spec", kObject, kRequired},
    {"spec.model", kObject, kRequired},
    {"spec.model.name", kText, kOptional, dotted_name},
    {"spec.model.config", kObject},
    {"spec.model.config.name", kText, kOptional, dotted_name},
    {"spec.model.config.family", kText, kRequired},
    {"spec.model.config.layers", kInteger, kRequired, between<1, kMostBlocks>},
    {"spec.model.config.hiddenSize", kInteger, kRequired, positive},
    {"spec.model.config.heads", kInteger, kRequired, positive},
    {"spec.model.config.kvHeads", kInteger, kOptional, positive},
    {"spec.model.config.ffnSize", kInteger, kOptional, positive},
    {"spec.model.config.vocabSize", kInteger, kRequired, between<2, kMaxInt>},
    {"spec.model.config.maxPositions", kInteger, kOptional, positive},
    {"spec.model.config.embeddingSize", kInteger, kOptional, positive},
    {"spec.model.config.tiedEmbeddings", kBoolean},
    {"spec.model.config.activation", kText},
    {"spec.model.config.normEpsilon", kDecimal, kOptional, above_zero},
    {"spec.model.config.ropeTheta", kDecimal, kOptional, above_zero},
    {"spec.model.config.postNorm", kBoolean},
    {"spec.model.config.localWindow", kInteger, kOptional, not_negative},
    {"spec.training", kObject, kRequired},
    {"spec.training.globalBatchSize", kInteger, kRequired, positive},
    {"spec.training.sequenceLength", kInteger, kRequired, positive},
    {"spec.training.microbatchSizes", kList, kOptional, set_of_up_to<32>},
    {"spec.training.microbatchSizes[]", kInteger, kOptional, positive},
    {"spec.training.precision", kText},
    {"spec.training.activationCheckpointing", kText},
    {"spec.training.sequenceParallelism", kText},
    {"spec.training.optimizer", kObject},
    {"spec.training.optimizer.name", kText},
    {"spec.training.optimizer.learningRate", kDecimal, kOptional, above_zero},
    {"spec.training.optimizer.weightDecay", kDecimal},
    {"spec.training.optimizer.beta1", kDecimal, kOptional, below_one},
    {"spec.training.optimizer.beta2", kDecimal, kOptional, below_one},
    {"spec.training.optimizer.epsilon", kDecimal, kOptional, above_zero},
    {"spec.training.optimizer.warmupSteps", kInteger, kOptional, not_negative_long},
    {"spec.training.optimizer.schedule", kText},
    {"spec.training.optimizer.clipNorm", kDecimal, kOptional, above_zero},
    {"spec.training.steps", kInteger, kRequired, positive_long},
    {"spec.training.seed", kInteger, kOptional, not_negative_long},
    {"spec.training.initialWeights", kText, kOptional, absolute_path},
    {"spec.training.onNonFinite", kText},
    {"spec.training.evaluation", kObject},
    {"spec.training.evaluation.everySteps", kInteger, kOptional, positive_long},
    {"spec.training.evaluation.batches", kInteger, kOptional, positive},
    {"spec.data", kObject, kRequired},
    {"spec.data.format", kText, kRequired},
    {"spec.data.path", kText, kRequired, absolute_path},
    {"spec.data.validation", kObject},
    {"spec.data.validation.path", kText, kOptional, absolute_path},
    {"spec.data.validation.fraction", kDecimal, kOptional, fraction},
    {"spec.objective", kObject},
    {"spec.objective.type", kText},
    {"spec.objective.maxCostPerIteration", kDecimal},
    {"spec.objective.maxCostPerHour", kDecimal},
    {"spec.objective.minThroughput", kDecimal},
    {"spec.resources", kObject},
    {"spec.resources.accelerators", kList, kOptional, set_of_up_to<32>},
    {"spec.resources.accelerators[]", kText, kOptional, plain_name},
    {"spec.resources.zones", kList, kOptional, set_of_up_to<64>},
    {"spec.resources.zones[]", kText, kOptional, plain_name},
    {"spec.resources.provisioning", kText},
    {"spec.resources.minGpus", kInteger, kOptional, positive},
    {"spec.resources.maxGpus", kInteger, kOptional, positive},
    {"spec.elasticity", kObject},
    {"spec.elasticity.mode", kText},
    {"spec.elasticity.redundancy", kText},
    {"spec.elasticity.lookAhead", kText},
    {"spec.elasticity.streamingSlowdownPercent", kInteger, kOptional, between<1, 100>},
    {"spec.checkpoint", kObject},
    {"spec.checkpoint.path", kText, kRequired, absolute_path},
    {"spec.checkpoint.everySteps", kInteger, kOptional, positive_long},
    {"spec.checkpoint.everySeconds", kInteger, kOptional, positive_long},
    {"spec.checkpoint.keep", kInteger, kOptional, positive},
    {"spec.checkpoint.resumeFrom", kObject},
    {"spec.checkpoint.resumeFrom.job", kText, kRequired, dotted_name},
    {"spec.checkpoint.resumeFrom.step", kInteger, kOptional, positive_long},
    {"spec.podTemplate", kObject},
    {"spec.podTemplate.metadata", kObject},
    {"spec.podTemplate.metadata.labels", kOpenObject, kOptional, pod_labels},
    {"spec.podTemplate.metadata.annotations", kOpenObject},
    {"spec.podTemplate.spec", kOpenObject},
    {"spec.podTemplate.spec.nodeName", kText, kOptional, no_node_name},
    {"spec.podTemplate.spec.restartPolicy", kText, kOptional, restart_policy_never},
    {"spec.podTemplate.spec.hostNetwork", kBoolean, kOptional, no_host_network},
    {"spec.podTemplate.spec.nodeSelector", kOpenObject, kOptional, node_labels},
    {"spec.podTemplate.spec.containers", kList},
    {"spec.podTemplate.spec.containers[]", kOpenObject},
    {"spec.podTemplate.spec.containers[].name", kText, kRequired},
    {"spec.podTemplate.spec.containers[].resources", kOpenObject},
    {"spec.podTemplate.spec.containers[].resources.limits", kOpenObject, kOptional, no_gpus},
    {"spec.podTemplate.spec.containers[].resources.requests", kOpenObject, kOptional, no_gpus},
    {"spec.podTemplate.spec.initContainers", kList},
    {"spec.podTemplate.spec.initContainers[]", kOpenObject},
    {"spec.podTemplate.spec.initContainers[].name", kText, kRequired},
    {"spec.podTemplate.spec.initContainers[].resources", kOpenObject},
    {"spec.podTemplate.spec.initContainers[].resources.limits", kOpenObject, kOptional, no_gpus},
    {"spec.podTemplate.spec.initContainers[].resources.requests", kOpenObject, kOptional, no_gpus},
    {"spec.podTemplate.spec.volumes", kList},
    {"spec.podTemplate.spec.volumes[]", kOpenObject},
    {"spec.podTemplate.spec.volumes[].name", kText, kRequired},
    {"spec.priorityClassName", kText, kOptional, dotted_name},
    {"spec.suspend", kBoolean},
    {"spec.managedBy", kText, kOptional, controller_name},
    {"spec.maxRestarts", kInteger, kOptional, not_negative},
    {"spec.activeDeadlineSeconds", kInteger, kOptional, positive_long},
    {"spec.ttlSecondsAfterFinished", kInteger, kOptional, not_negative_long},
};

constexpr Field kGpuPool[] = {
    {"spec", kObject, kRequired},
    {"spec.region", kText, kRequired, plain_name},
    {"spec.zone", kText, kRequired, plain_name},
    {"spec.accelerator", kText, kRequired, plain_name},
    {"spec.provisioning", kText, kRequired},
    {"spec.gpusPerNode", kInteger, kRequired, between<1, kMostGpusOfANode>},
    {"spec.maxNodes", kInteger, kOptional, between<0, 1'000'000>},
    {"spec.nodes", kInteger, kOptional, between<0, 1'000'000>},
    {"spec.pricePerGpuHour", kDecimal},
    {"spec.nodeLifetimeHours", kDecimal, kOptional, above_zero},
    {"spec.wholeNodes", kBoolean},
    {"spec.nodeSelector", kOpenObject, kOptional, node_labels},
    {"spec.network", kObject},
    {"spec.network.interNodeGbps", kDecimal, kOptional, above_zero},
    {"spec.gpu", kObject},
    {"spec.gpu.memoryGib", kDecimal, kRequired},
    {"spec.gpu.teraflops", kObject, kRequired},
    {"spec.gpu.teraflops.fp32", kDecimal, kRequired},
    {"spec.gpu.teraflops.bf16", kDecimal, kRequired},
    {"spec.gpu.memoryGigabytesPerSecond", kDecimal, kRequired},
    {"spec.gpu.peerGigabytesPerSecond", kDecimal},
};

constexpr Field kModelProfile[] = {
    {"spec", kObject, kRequired},
    {"spec.model", kText, kRequired, dotted_name},
    {"spec.accelerator", kText, kRequired, plain_name},
    {"spec.precision", kText, kRequired},
    {"spec.sequenceLength", kInteger, kRequired, positive},
    {"spec.sequenceParallelism", kText},
    {"spec.layers", kInteger, kRequired, between<3, kMostBlocks + 2>},
    {"spec.times", kList, kRequired},
    {"spec.times[]", kObject},
    {"spec.times[].tensorParallel", kInteger, kRequired, positive},
    {"spec.times[].microbatchSize", kInteger, kRequired, positive},
    {"spec.times[].layers", kList, kRequired},
    {"spec.times[].layers[]", kObject},
    {"spec.times[].layers[].first", kInteger, kRequired, not_negative},
    {"spec.times[].layers[].last", kInteger, kRequired, positive},
    {"spec.times[].layers[].forwardSeconds", kDecimal, kRequired},
    {"spec.times[].layers[].backwardSeconds", kDecimal, kRequired},
    {"spec.times[].layers[].updateSeconds", kDecimal, kRequired},
    {"spec.memory", kList},
    {"spec.memory[]", kObject},
    {"spec.memory[].tensorParallel", kInteger, kRequired, positive},
    {"spec.memory[].layers", kList, kRequired},
    {"spec.memory[].layers[]", kObject},
    {"spec.memory[].layers[].first", kInteger, kRequired, not_negative},
    {"spec.memory[].layers[].last", kInteger, kRequired, positive},
    {"spec.memory[].layers[].parameters", kInteger, kRequired, not_negative_long},
    {"spec.memory[].layers[].activationBytesPerSample", kInteger, kRequired, not_negative_long},
    {"spec.memory[].layers[].outputBytesPerSample", kInteger, kRequired, not_negative_long},
    {"spec.device", kText},
    {"spec.measuredAt", kText, kOptional, date_time},
    {"spec.source", kText},
};

constexpr Field kNetworkModel[] = {
    {"spec", kObject, kRequired},
    {"spec.tiers", kObject},
    {"spec.tiers.*", kObject},
    {"spec.tiers.*.gigabytesPerSecond", kDecimal, kRequired},
    {"spec.tiers.*.latencyMicroseconds", kInteger},
    {"spec.tiers.*.dollarsPerGigabyte", kDecimal},
    {"spec.pairs", kList},
    {"spec.pairs[]", kObject},
    {"spec.pairs[].from", kText, kRequired},
    {"spec.pairs[].to", kText, kRequired},
    {"spec.pairs[].gigabytesPerSecond", kDecimal},
    {"spec.pairs[].latencyMicroseconds", kInteger},
    {"spec.pairs[].dollarsPerGigabyte", kDecimal},
    {"spec.execution", kObject},
};

constexpr Field kExecutionModel[] = {
    {"spec", kObject, kRequired},
    {"spec.base", kText},
    {"spec.source", kText},
    {"spec.measured", kBoolean},
    {"spec.updateShare", kDecimal},
    {"spec.passes", kObject},
    {"spec.passes.schedule", kText},
    {"spec.passes.overheadMicroseconds", kInteger},
    {"spec.passes.launchExposed", kDecimal},
    {"spec.messages", kObject},
    {"spec.messages.besidePasses", kBoolean},
    {"spec.messages.byGroup", kBoolean},
    {"spec.messages.latencyMicroseconds", kInteger},
    {"spec.messages.shareOfRate", kDecimal},
    {"spec.messages.receivesInOrder", kBoolean},
    {"spec.messages.sendBufferMebibytes", kDecimal},
    {"spec.sums", kObject},
    {"spec.sums.besidePasses", kBoolean},
    {"spec.sums.algorithm", kText},
    {"spec.sums.shareOfRate", kDecimal},
    {"spec.memory", kObject},
    {"spec.memory.margin", kDecimal},
    {"spec.memory.contextGibibytes", kDecimal},
    {"spec.memory.bytesPerParameter", kDecimal},
    {"spec.memory.scoreMatrices", kDecimal},
    {"spec.memory.logits", kText},
};

// A network model's `execution` has the fields of an execution model.
std::span<const Field> network_model_fields() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> below;
    for (const Field& field : std::span(kExecutionModel).subspan(1)) {
      below.push_back("spec.execution" + std::string(field.path.substr(std::string_view("spec").size())));
    }
    return below;
  }();
  static const std::vector<Field> fields = [] {
    std::vector<Field> all(std::begin(kNetworkModel), std::end(kNetworkModel));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      all.push_back(kExecutionModel[i + 1]);
      all.back().path = paths[i];
    }
    return all;
  }();
  return fields;
}

// Fields of every kind.
constexpr Field kCommon[] = {
    {"apiVersion", kText, kRequired}, {"kind", kText, kRequired}, {"metadata", kObject},
    {"metadata.*", kAnything},        {"status", kAnything},
};

}  // namespace

const Schema* find_schema(std::string_view kind) {
  static const Schema schemas[] = {{"TrainingJob", kTrainingJob},
                                   {"GpuPool", kGpuPool},
                                   {"ModelProfile", kModelProfile},
                                   {"NetworkModel", network_model_fields(), false},
                                   {"ExecutionModel", kExecutionModel, false}};
  const auto found = std::ranges::find(schemas, kind, &Schema::kind);
  return found == std::end(schemas) ? nullptr : &*found;
}

const Field* Schema::find(std::string_view pattern) const {
  for (const auto& table : {fields, std::span<const Field>(kCommon)}) {
    const auto found = std::ranges::find(table, pattern, &Field::path);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

std::vector<const Field*> Schema::children(std::string_view pattern) const {
  const std::string prefix = pattern.empty() ? "" : std::string(pattern) + ".";
  std::vector<const Field*> found;
  for (const auto& table : {fields, std::span<const Field>(kCommon)}) {
    for (const Field& field : table) {
      const bool is_below = field.path.starts_with(prefix) && field.path.size() > prefix.size();
      if (is_below && field.path.find_first_of(".[", prefix.size()) == std::string_view::npos) found.push_back(&field);
    }
  }
  return found;
}

}  // namespace sailor
