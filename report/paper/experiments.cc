#include "report/paper/experiments.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/model/check.h"
#include "core/model/json_reader.h"

namespace sailor::paper {

extern const std::string_view kExperimentsJson;  // experiments.json, which CMakeLists.txt embeds

namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<std::string_view, Measure>, 10> kMeasures = {{{"none", Measure::kNone},
                                                                             {"overPeer", Measure::kOverPeer},
                                                                             {"underPeer", Measure::kUnderPeer},
                                                                             {"overCase", Measure::kOverCase},
                                                                             {"value", Measure::kValue},
                                                                             {"search", Measure::kSearch},
                                                                             {"gpus", Measure::kGpus},
                                                                             {"regions", Measure::kRegions},
                                                                             {"timeError", Measure::kTimeError},
                                                                             {"memoryError", Measure::kMemoryError}}};

// A mistake in experiments.json is a mistake of this program.
void check(const JsonReader& reader) {
  SAILOR_CHECK(!reader.error(), "experiments.json: {}", reader.error() ? reader.error()->message : "");
}

Objective objective_of(JsonReader& reader, const Objective& fallback) {
  const auto cost = reader.optional<double>("maxCostPerIteration");
  if (cost) return MaximizeThroughput{Dollars(*cost), std::nullopt};
  const auto throughput = reader.optional<double>("minThroughput");
  if (throughput) return MinimizeCost{throughput};
  return fallback;
}

std::vector<ArtifactPool> gpus_of(JsonReader& reader) {
  std::vector<ArtifactPool> pools;
  for (const auto& [column, gpus] : reader.child("gpus").items()) {
    const auto pool = artifact_pool(column);
    SAILOR_CHECK(pool && gpus.is_number_integer(), "experiments.json: gpus: {}", column);
    pools.push_back({pool->zone, pool->accelerator, gpus.get<int>()});
  }
  return pools;
}

Case case_of(const Json& json, const Experiment& experiment, const std::string& model, const Objective& objective) {
  JsonReader reader(json, fmt::format("{}, case {}", experiment.name, experiment.cases.size()));
  Case one{.name = reader.required<std::string>("name"),
           .model = reader.value_or<std::string>("model", model),
           .objective = objective_of(reader, objective),
           .trace = reader.value_or<std::string>("trace", ""),
           .line = reader.value_or<std::size_t>("line", 0),
           .gpus = gpus_of(reader),
           .recorded = reader.value_or<std::string>("recorded", "")};
  check(reader);
  SAILOR_CHECK(one.trace.empty() != one.gpus.empty(), "{} must have a trace or GPUs", one.name);
  return one;
}

Published published_of(JsonReader& reader) {
  Published published{.is_limit = reader.value_or<bool>("isLimit", false),
                      .text = reader.value_or<std::string>("publishedText", "")};
  if (const auto value = reader.optional<double>("published")) published.range = Range{*value, *value};
  if (reader.has("publishedLow")) {
    published.range = Range{reader.required<double>("publishedLow"), reader.required<double>("publishedHigh")};
  }
  return published;
}

Claim claim_of(const Json& json, const Experiment& experiment) {
  JsonReader reader(json, fmt::format("{}, claim {}", experiment.name, experiment.claims.size()));
  const auto measure = reader.required<std::string>("measure");
  const auto* const known = std::ranges::find(kMeasures, measure, &decltype(kMeasures)::value_type::first);
  SAILOR_CHECK(known != kMeasures.end(), "experiments.json: unknown measure {}", measure);
  Claim claim{.text = reader.required<std::string>("text"),
              .measure = known->second,
              .of = reader.value_or<std::string>("of", "") == "cost" ? Quantity::kCost : Quantity::kThroughput,
              .at = reader.value_or<std::size_t>("case", 0),
              .base = reader.value_or<std::size_t>("base", 0),
              .peer = reader.value_or<std::string>("peer", ""),
              .runs = reader.value_or<std::string>("runs", ""),
              .published = published_of(reader),
              .is_percent = reader.value_or<bool>("percent", false)};
  check(reader);
  SAILOR_CHECK(std::max(claim.at, claim.base) < std::max<std::size_t>(experiment.cases.size(), 1),
               "experiments.json: {}: {} names a case that does not exist", experiment.name, claim.text);
  return claim;
}

Experiment experiment_of(const Json& json) {
  JsonReader reader(json, "experiment");
  Experiment experiment{.id = reader.required<std::string>("id"),
                        .name = reader.required<std::string>("name"),
                        .title = reader.required<std::string>("title"),
                        .shows = reader.required<std::string>("shows"),
                        .note = reader.value_or<std::string>("note", ""),
                        .why = reader.value_or<std::string>("why", "")};
  const auto model = reader.required<std::string>("model");
  const Objective objective = objective_of(reader, MaximizeThroughput{});
  for (const Json& one : reader.child("cases")) {
    experiment.cases.push_back(case_of(one, experiment, model, objective));
  }
  for (const Json& one : reader.child("claims")) experiment.claims.push_back(claim_of(one, experiment));
  check(reader);
  return experiment;
}

Evaluation parse_evaluation() {
  const Json json = Json::parse(kExperimentsJson);
  JsonReader reader(json, "");
  Evaluation all{.source = reader.required<std::string>("source"),
                 .assumptions = reader.required<std::vector<std::string>>("assumptions"),
                 .microbatch_sizes = reader.required<std::vector<int>>("microbatchSizes")};
  for (const auto& [gpu, price] : reader.child("pricesPerGpuHour").items()) {
    all.prices[artifact_accelerator(gpu).value()] = DollarsPerHour(price.get<double>());
  }
  for (const auto& [model, file] : reader.child("trainingConfigs").items()) {
    all.training_configs[model] = file.get<std::string>();
  }
  for (const Json& one : reader.child("experiments")) all.experiments.push_back(experiment_of(one));
  for (const Json& one : reader.child("notReproduced")) {
    all.not_reproduced.push_back({one.at("name").get<std::string>(), one.at("reason").get<std::string>()});
  }
  check(reader);
  return all;
}

}  // namespace

const Evaluation& evaluation() {
  static const Evaluation all = parse_evaluation();
  return all;
}

Result<const Experiment*> find_experiment(std::string_view id) {
  std::string known;
  for (const Experiment& experiment : evaluation().experiments) {
    if (experiment.id == id) return &experiment;
    known += (known.empty() ? "" : ", ") + experiment.id;
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not an experiment; use one of {}", id, known));
}

}  // namespace sailor::paper
