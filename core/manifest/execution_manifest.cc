// Reads an ExecutionModel, from a file or from a NetworkModel.
#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/job_json.h"

namespace sailor {
namespace {

constexpr double kLeastShare = 0.001;
constexpr double kMostShare = 1000;
constexpr double kMostMicroseconds = 60e6;

void read_share(JsonReader& reader, std::string_view key, double& share) {
  const auto given = optional_decimal(reader, key);
  if (!given) return;
  if (*given < kLeastShare || *given > kMostShare) {
    reader.record(key, fmt::format("{} is not between {} and {}", *given, kLeastShare, kMostShare));
  }
  share = *given;
}

void read_messages(JsonReader& reader, ExecutionModel& model) {
  model.messages_beside_passes = reader.value_or("besidePasses", model.messages_beside_passes);
  model.messages_by_group = reader.value_or("byGroup", model.messages_by_group);
  read_share(reader, "shareOfRate", model.message_share);
  const auto latency = reader.optional<double>("latencyMicroseconds");
  if (!latency) return;
  if (*latency < 0 || *latency > kMostMicroseconds) {
    reader.record("latencyMicroseconds", fmt::format("{} is not between 0 and {}", *latency, kMostMicroseconds));
  }
  model.message_latency = Seconds(*latency * 1e-6);
}

void read_sums(JsonReader& reader, ExecutionModel& model) {
  model.sums_beside_passes = reader.value_or("besidePasses", model.sums_beside_passes);
  read_share(reader, "shareOfRate", model.sum_share);
  const auto algorithm = reader.value_or<std::string>("algorithm", "");
  if (!algorithm.empty() && algorithm != "Ring" && algorithm != "Fastest") {
    reader.record("algorithm", fmt::format("\"{}\" is unknown; use Ring or Fastest", algorithm));
  }
  if (!algorithm.empty()) {
    model.sum_algorithm = algorithm == "Ring" ? SumAlgorithm::kRing : SumAlgorithm::kFastest;
  }
}

}  // namespace

ExecutionModel execution_from(JsonReader& reader, ExecutionModel model) {
  model.source = reader.value_or<std::string>("source", "a file that does not say where its figures are from");
  model.is_measured = reader.value_or("measured", false);
  read_share(reader, "updateShare", model.update_share);
  JsonReader messages(reader.child("messages"), reader.path_of("messages"));
  read_messages(messages, model);
  if (const auto& error = messages.error()) reader.absorb(*error);
  JsonReader sums(reader.child("sums"), reader.path_of("sums"));
  read_sums(sums, model);
  if (const auto& error = sums.error()) reader.absorb(*error);
  return model;
}

Result<ExecutionModel> execution_from_manifest(const Json& execution_model) {
  JsonReader root(execution_model, "");
  JsonReader metadata(root.child("metadata"), "metadata");
  JsonReader spec(root.child("spec"), "spec");
  ExecutionModel model = execution_from(spec, default_execution_model());
  model.name = metadata.value_or<std::string>("name", "file");
  for (const JsonReader* reader : {&root, &metadata, &spec}) {
    if (const auto& error = reader->error()) return tl::unexpected(*error);
  }
  return model;
}

}  // namespace sailor
