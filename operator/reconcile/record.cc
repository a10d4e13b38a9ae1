#include "operator/reconcile/record.h"

#include "operator/kube/resource.h"
#include "operator/reconcile/names.h"
#include "planner/model/check.h"
#include "planner/model/json_reader.h"
#include "planner/model/plan_json.h"

namespace sailor {
namespace {

constexpr const char* kRecordKey = "record.json";
constexpr const char* kPlanKey = "plan.json";  // the plan once more, alone, for people and for `sailor simulate --plan`

std::string time_text(Time time) { return to_rfc3339_micro(time); }
Time time_from(const std::string& text) { return parse_rfc3339(text).value_or(Time()); }

Json summary_json(const PlanSummary& summary) {
  return {{"iterationSeconds", summary.iteration_seconds},
          {"tokensPerSecond", summary.tokens_per_second},
          {"gpuCostPerIteration", summary.gpu_cost_per_iteration},
          {"trafficCostPerIteration", summary.traffic_cost_per_iteration},
          {"costPerHour", summary.cost_per_hour},
          {"boundRatio", summary.bound_ratio}};
}

PlanSummary summary_from(const Json& json) {
  return {json.at("iterationSeconds"),        json.at("tokensPerSecond"), json.at("gpuCostPerIteration"),
          json.at("trafficCostPerIteration"), json.at("costPerHour"),     json.at("boundRatio")};
}

PoolKey pool_from(const Json& json) {
  const auto pool = parse_pool_key(json.get<std::string>());
  if (!pool) throw std::invalid_argument(pool.error().message);
  return *pool;
}

Json slot_json(const Slot& slot) {
  return {{"pod", slot.pod},
          {"pool", to_string(slot.pool)},
          {"node", slot.node},
          {"nodeUid", slot.node_uid},
          {"gpus", slot.gpus}};
}

Slot slot_from(const Json& json) {
  return {json.at("pod"), pool_from(json.at("pool")), json.at("node"), json.at("nodeUid"), json.at("gpus")};
}

Json seat_json(const Seat& seat) {
  return {{"stage", seat.stage}, {"replica", seat.replica}, {"slot", seat.slot}, {"firstGpu", seat.first_gpu}};
}

Seat seat_from(const Json& json) {
  return {json.at("stage"), json.at("replica"), json.at("slot"), json.at("firstGpu")};
}

Json member_json(const Member& member) {
  return {{"pod", member.address.name},
          {"podUid", member.pod_uid},
          {"host", member.address.host},
          {"port", member.address.port},
          {"storePort", member.address.store_port},
          {"pool", to_string(member.address.pool)},
          {"gpus", member.address.gpus},
          {"node", member.node},
          {"nodeUid", member.node_uid},
          {"leaves", member.leaves}};
}

Member member_from(const Json& json) {
  const AgentAddress address{
      json.at("pod"), json.at("host"), json.at("port"), json.at("storePort"), pool_from(json.at("pool")),
      json.at("gpus")};
  return {address, json.at("podUid"), json.at("node"), json.at("nodeUid"), json.at("leaves")};
}

template <class T, class Convert>
Json list_json(const std::vector<T>& values, Convert convert) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(convert(value));
  return list;
}

template <class T, class Convert>
std::vector<T> list_from(const Json& json, Convert convert) {
  std::vector<T> values;
  for (const Json& value : json) values.push_back(convert(value));
  return values;
}

void read_history(const Json& json, GenerationRecord& record) {
  record.reason = json.at("reason");
  record.message = json.at("message");
  record.decided = time_from(json.at("decided"));
  record.from_generation = json.at("fromGeneration");
  record.from_gpus = json.at("fromGpus");
  record.fresh_from = json.at("freshFrom");
  record.restarts = json.at("restarts");
  record.last_failure = json.at("lastFailure");
  record.not_before = time_from(json.at("notBefore"));
  record.suspects = list_from<Suspect>(json.at("suspects"), [](const Json& suspect) {
    return Suspect{suspect.at("nodeUid"), time_from(suspect.at("since"))};
  });
}

}  // namespace

PlanSummary summary_of(const Estimate& estimate, double bound_ratio) {
  return {estimate.iteration.value(),
          estimate.tokens_per_second,
          estimate.gpu_cost_per_iteration.value(),
          estimate.traffic_cost_per_iteration.value(),
          estimate.cost_per_hour.value(),
          bound_ratio};
}

Json to_json(const GenerationRecord& record) {
  return {{"jobUid", record.job_uid},
          {"jobGeneration", record.job_generation},
          {"generation", record.generation},
          {"plan", to_json(record.plan)},
          {"summary", summary_json(record.summary)},
          {"slots", list_json(record.placement.slots, slot_json)},
          {"seats", list_json(record.placement.seats, seat_json)},
          {"members", list_json(record.members, member_json)},
          {"rendezvous", record.rendezvous},
          {"reason", record.reason},
          {"message", record.message},
          {"decided", time_text(record.decided)},
          {"fromGeneration", record.from_generation},
          {"fromGpus", record.from_gpus},
          {"freshFrom", record.fresh_from},
          {"restarts", record.restarts},
          {"lastFailure", record.last_failure},
          {"notBefore", time_text(record.not_before)},
          {"suspects", list_json(record.suspects, [](const Suspect& suspect) {
             return Json{{"nodeUid", suspect.node_uid}, {"since", time_text(suspect.since)}};
           })}};
}

Result<GenerationRecord> record_from_json(const Json& json) {
  try {
    GenerationRecord record;
    record.job_uid = json.at("jobUid");
    record.job_generation = json.at("jobGeneration");
    record.generation = json.at("generation");
    auto plan = plan_from_json(json.at("plan"));
    if (!plan) return tl::unexpected(std::move(plan).error());
    record.plan = std::move(*plan);
    record.summary = summary_from(json.at("summary"));
    record.placement.slots = list_from<Slot>(json.at("slots"), slot_from);
    record.placement.seats = list_from<Seat>(json.at("seats"), seat_from);
    record.members = list_from<Member>(json.at("members"), member_from);
    record.rendezvous = json.at("rendezvous");
    read_history(json, record);
    return record;
  } catch (const std::exception& error) {  // nlohmann's, or a pool that is none
    return fail(ErrorCode::kInvalidArgument, std::string("the generation record is damaged: ") + error.what());
  }
}

Json config_map_of(const GenerationRecord& record, const JobKey& job, const std::string& version) {
  Json map = {{"apiVersion", kube::kConfigMaps.group_version},
              {"kind", kube::kConfigMaps.kind},
              {"metadata",
               {{"name", record_name(job.name)},
                {"namespace", job.space},
                {"labels", {{kManagedByLabel, kOperatorName}, {kJobNameLabel, short_job_name(job.name)}}},
                {"ownerReferences", Json::array({{{"apiVersion", kube::kTrainingJobs.group_version},
                                                  {"kind", kube::kTrainingJobs.kind},
                                                  {"name", job.name},
                                                  {"uid", record.job_uid},
                                                  {"controller", true},
                                                  {"blockOwnerDeletion", true}}})}}},
              {"data", {{kRecordKey, to_json(record).dump()}, {kPlanKey, to_json(record.plan).dump(2)}}}};
  if (!version.empty()) map["metadata"]["resourceVersion"] = version;
  return map;
}

Result<GenerationRecord> record_of(const Json& config_map) {
  const std::string text = kube::text_at(config_map, {"data", kRecordKey});
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the ConfigMap {} holds no generation record; delete it to plan anew", kube::name_of(config_map)));
  }
  return record_from_json(json);
}

}  // namespace sailor
