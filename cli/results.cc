#include "cli/results.h"

#include <ostream>

#include <yaml-cpp/yaml.h>

#include "core/model/plan_json.h"

namespace sailor::cli {
namespace {

void emit(YAML::Emitter& yaml, const nlohmann::json& json) {
  if (json.is_object()) {
    yaml << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      yaml << YAML::Key << key << YAML::Value;
      emit(yaml, value);
    }
    yaml << YAML::EndMap;
  } else if (json.is_array()) {
    const bool has_scalars = !json.empty() && json.front().is_primitive();
    yaml << (has_scalars ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const auto& value : json) emit(yaml, value);
    yaml << YAML::EndSeq;
  } else if (json.is_string()) {
    yaml << YAML::DoubleQuoted << json.get<std::string>();
  } else {
    yaml << json.dump();
  }
}

nlohmann::json plan_json(const Plan& plan, const Estimate& estimate) {
  return {{"plan", to_json(plan)}, {"estimate", to_json(estimate)}};
}

}  // namespace

nlohmann::json simulated_json(const Plan& plan, const Estimate& estimate, const EstimateBasis& basis) {
  nlohmann::json json = plan_json(plan, estimate);
  json["execution"] = {
      {"name", basis.execution.name}, {"source", basis.execution.source}, {"measured", basis.execution.is_measured}};
  json["sensitivity"] = {{"slowerSums", basis.sensitivity.slower_sums},
                         {"slowerMessages", basis.sensitivity.slower_messages}};
  return json;
}

nlohmann::json planned_json(const PlannedJob& planned, const EstimateBasis& basis) {
  nlohmann::json json = simulated_json(planned.plan, planned.estimate, basis);
  json["bound"] = {{"throughput", planned.bound_throughput},
                   {"ratio", planned.bound_ratio()},
                   {"costPerIteration", planned.bound_cost.value()},
                   {"costRatio", planned.cost_bound_ratio()}};
  json["pauseSeconds"] = planned.pause.value();
  json["search"] = {{"seconds", planned.search.elapsed.value()},
                    {"candidates", planned.search.candidates},
                    {"prunedByMemory", planned.search.pruned_by_memory},
                    {"prunedByBound", planned.search.pruned_by_bound},
                    {"cutShort", planned.search.was_cut_short}};
  json["alternatives"] = nlohmann::json::array();
  for (const EstimatedPlan& other : planned.alternatives) {
    json["alternatives"].push_back(plan_json(other.plan, other.estimate));
  }
  return json;
}

std::string as_yaml(const nlohmann::json& json) {
  YAML::Emitter yaml;
  emit(yaml, json);
  return std::string(yaml.c_str()) + "\n";
}

void print_json(const nlohmann::json& json, Format format, std::ostream& out) {
  out << (format == Format::kYaml ? as_yaml(json) : json.dump(2) + "\n");
}

}  // namespace sailor::cli
