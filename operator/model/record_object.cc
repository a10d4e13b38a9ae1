#include "operator/model/record_object.h"

#include <fmt/format.h>

#include "core/model/plan_json.h"
#include "operator/kube/resource.h"
#include "operator/model/names.h"
#include "operator/model/owned_object.h"
#include "operator/model/record_check.h"

namespace sailor {
namespace {

using kube::Json;

constexpr const char* kOlderRecordKey = "record.json";
constexpr const char* kPlanKey = "plan.json";  // for people and for `sailor simulate --plan`

Result<GenerationRecord> checked_record(const Json& json) {
  auto record = record_from_json(json);
  if (!record) return record;
  if (auto checked = check_record(*record); !checked) return tl::unexpected(std::move(checked).error());
  return record;
}

void add_nodes(const Json& pods, std::set<std::string>& nodes) {
  for (const Json& pod : pods) {
    if (std::string node = kube::text_at(pod, {"node"}); !node.empty()) nodes.insert(std::move(node));
  }
}

}  // namespace

Json job_record_of(const GenerationRecord& record, const JobKey& job, const std::string& version) {
  Json object = {{"apiVersion", kube::kJobRecords.group_version},
                 {"kind", kube::kJobRecords.kind},
                 {"metadata", metadata_of_owned(job.name, job, record.job_uid)},
                 {"spec", to_json(record)}};
  if (!version.empty()) object["metadata"]["resourceVersion"] = version;
  return object;
}

Result<GenerationRecord> record_of(const Json& job_record) {
  const Json* spec = kube::find_at(job_record, {"spec"});
  auto record = spec == nullptr ? fail(ErrorCode::kInvalidArgument, "it has no spec") : checked_record(*spec);
  if (!record) {
    return tl::unexpected(std::move(record).error().within(
        fmt::format("reading JobRecord {}; delete it, and the operator makes a new one from what the agents report",
                    kube::name_of(job_record))));
  }
  return record;
}

Json plan_map_of(const GenerationRecord& record, const JobKey& job) {
  Json metadata = metadata_of_owned(plan_map_name(job.name), job, record.job_uid);
  metadata["annotations"] = {{kGenerationAnnotation, std::to_string(record.generation)}};
  return {{"apiVersion", kube::kConfigMaps.group_version},
          {"kind", kube::kConfigMaps.kind},
          {"metadata", std::move(metadata)},
          {"data", {{kPlanKey, to_compact_json(record.plan).dump(2)}}}};
}

std::optional<Result<GenerationRecord>> record_of_older_operator(const Json& plan_map) {
  const Json* text = kube::find_at(plan_map, {"data", kOlderRecordKey});
  if (text == nullptr || !text->is_string()) return std::nullopt;
  auto record = checked_record(Json::parse(text->get_ref<const std::string&>(), nullptr, false));
  if (record) return record;
  return tl::unexpected(std::move(record).error().within(
      fmt::format("reading {} of ConfigMap {}; delete the ConfigMap, and the operator makes a new record from what "
                  "the agents report",
                  kOlderRecordKey, kube::name_of(plan_map))));
}

Json without_plan(Json plan_map) {
  if (plan_map.contains("data")) plan_map["data"].erase(kPlanKey);
  return plan_map;
}

std::set<std::string> nodes_of(const Json& job_record) {
  std::set<std::string> nodes;
  for (const char* list : {"slots", "members"}) {
    add_nodes(kube::list_at(job_record, {"spec", list}), nodes);
    add_nodes(kube::list_at(job_record, {"spec", "running", list}), nodes);
  }
  for (const Json& older : kube::list_at(job_record, {"spec", "older"}))
    add_nodes(kube::list_at(older, {"members"}), nodes);
  return nodes;
}

}  // namespace sailor
