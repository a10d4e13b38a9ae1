#include "operator/model/record.h"

#include <algorithm>

#include "core/model/check.h"
#include "core/model/json_reader.h"
#include "core/model/plan_json.h"
#include "core/protocol/timeouts.h"

namespace sailor {
namespace {

std::string time_text(Time time) { return to_rfc3339_micro(time); }
Time time_from(const std::string& text) { return parse_rfc3339(text).value_or(Time()); }

Json summary_json(const PlanSummary& summary) {
  Json others = Json::array();
  for (const AlternativePlan& other : summary.alternatives) {
    others.push_back({{"iterationSeconds", other.iteration_seconds},
                      {"costPerIteration", other.cost_per_iteration},
                      {"gpus", other.gpus}});
  }
  return {{"iterationSeconds", summary.iteration_seconds},
          {"tokensPerSecond", summary.tokens_per_second},
          {"gpuCostPerIteration", summary.gpu_cost_per_iteration},
          {"trafficCostPerIteration", summary.traffic_cost_per_iteration},
          {"costPerHour", summary.cost_per_hour},
          {"boundRatio", summary.bound_ratio},
          {"failuresPerHour", summary.failures_per_hour},
          {"others", std::move(others)}};
}

PlanSummary summary_from(const Json& json) {
  PlanSummary summary{json.at("iterationSeconds"),        json.at("tokensPerSecond"), json.at("gpuCostPerIteration"),
                      json.at("trafficCostPerIteration"), json.at("costPerHour"),     json.at("boundRatio"),
                      json.value("failuresPerHour", 0.0)};
  for (const Json& other : json.value("others", Json::array()))
    summary.alternatives.push_back({other.at("iterationSeconds"), other.at("costPerIteration"), other.at("gpus")});
  return summary;
}

PoolKey pool_from(const Json& json) {
  const auto pool = parse_pool_key(json.get<std::string>());
  if (!pool) throw std::invalid_argument(pool.error().message);
  return *pool;
}

Json slot_json(const Slot& slot) {
  Json json = {{"pod", slot.pod},
               {"pool", to_string(slot.pool)},
               {"node", slot.node},
               {"nodeUid", slot.node_uid},
               {"gpus", slot.gpus}};
  if (!slot.gpu_order.empty()) json["gpuOrder"] = slot.gpu_order;
  return json;
}

Slot slot_from(const Json& json) {
  return {json.at("pod"),  pool_from(json.at("pool")),
          json.at("node"), json.at("nodeUid"),
          json.at("gpus"), json.value("gpuOrder", std::vector<int>{})};
}

// The JSON is an array without field names, because a plan may have thousands of replicas.
Json replica_placement_json(const ReplicaPlacement& replica) {
  return Json::array({replica.stage, replica.replica, replica.slot, replica.first_gpu});
}

ReplicaPlacement replica_placement_from(const Json& json) {
  if (json.is_array()) return {json.at(0), json.at(1), json.at(2), json.at(3)};
  // Older operators wrote an object.
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

Json quarantined_node_json(const QuarantinedNode& quarantined) {
  return {{"nodeUid", quarantined.node_uid},
          {"since", time_text(quarantined.since)},
          {"until", time_text(quarantined.until)},
          {"durationSeconds", quarantined.duration.count()}};
}

QuarantinedNode quarantined_node_from(const Json& json) {
  return {json.at("nodeUid"), time_from(json.at("since")), time_from(json.at("until")),
          std::chrono::seconds(json.value("durationSeconds", std::int64_t{0}))};
}

Json pool_refusal_json(const PoolRefusal& refusal) {
  return {{"pool", to_string(refusal.pool)},
          {"since", time_text(refusal.since)},
          {"until", time_text(refusal.until)},
          {"message", refusal.message}};
}

PoolRefusal pool_refusal_from(const Json& json) {
  return {pool_from(json.at("pool")), time_from(json.at("since")), time_from(json.at("until")), json.at("message")};
}

Json forgone_json(const Forgone& forgone) {
  return {{"seconds", forgone.before_since.value()},
          {"since", time_text(forgone.since)},
          {"share", forgone.share},
          {"plan", forgone.plan},
          {"changeAt", time_text(forgone.change_at)}};
}

Forgone forgone_from(const Json& json) {
  return {Seconds(json.at("seconds").get<double>()), time_from(json.at("since")), json.at("share"), json.at("plan"),
          time_from(json.at("changeAt"))};
}

Json slow_gpu_json(const SlowGpu& slow) {
  return {{"nodeUid", slow.node_uid},
          {"gpu", slow.gpu},
          {"slowdown", slow.slowdown},
          {"since", time_text(slow.since)},
          {"slowUntil", time_text(slow.slow_until)},
          {"distrustSeconds", slow.distrust.count()},
          {"usualProbeSeconds", slow.usual_probe_seconds}};
}

SlowGpu slow_gpu_from(const Json& json) {
  return {json.at("nodeUid"),
          json.at("gpu"),
          json.at("slowdown"),
          time_from(json.at("since")),
          time_from(json.at("slowUntil")),
          std::chrono::seconds(json.at("distrustSeconds").get<std::int64_t>()),
          json.value("usualProbeSeconds", 0.0)};
}

Json older_json(const OlderRecord& older) {
  return {{"generation", older.generation},
          {"leased", older.is_leased},
          {"unrenewed", older.is_unrenewed},
          {"members", list_json(older.members, member_json)}};
}

// Older operators wrote the time since when the lease is not renewed.
bool is_unrenewed(const Json& older) {
  return older.value("unrenewed", time_from(older.value("unrenewedSince", "")) != Time());
}

OlderRecord older_from(const Json& json) {
  return {json.at("generation"), json.at("leased"), is_unrenewed(json),
          list_from<Member>(json.at("members"), member_from)};
}

Json generation_json(const Generation& generation) {
  Json json = {{"generation", generation.generation},
               {"plan", to_compact_json(generation.plan)},
               {"summary", summary_json(generation.summary)},
               {"slots", list_json(generation.placement.slots, slot_json)},
               {"replicas", list_json(generation.placement.replicas, replica_placement_json)},
               {"members", list_json(generation.members, member_json)},
               {"rendezvous", generation.rendezvous},
               {"releasesGpus", generation.releases_gpus},
               {"leased", generation.is_leased},
               {"reason", to_string(generation.reason)},
               {"message", generation.message},
               {"causedAt", time_text(generation.caused_at)},
               {"leaveBy", time_text(generation.leave_by)},
               {"askedAt", time_text(generation.asked_at)},
               {"decidedAt", time_text(generation.decided_at)},
               {"committedAt", time_text(generation.committed_at)},
               {"fromGeneration", generation.from_generation},
               {"fromGpus", generation.from_gpus}};
  if (generation.settings) json["settings"] = to_json(*generation.settings);
  if (generation.schedule_times) json["scheduleTimes"] = to_json(*generation.schedule_times);
  return json;
}

Generation generation_from(const Json& json) {
  Generation generation;
  generation.generation = json.at("generation");
  auto plan = plan_from_json(json.at("plan"));
  if (!plan) throw std::invalid_argument(plan.error().message);
  generation.plan = std::move(*plan);
  if (json.contains("scheduleTimes")) {
    auto times = schedule_times_from_json(json.at("scheduleTimes"), generation.plan, "scheduleTimes");
    if (!times) throw std::invalid_argument(times.error().message);
    generation.schedule_times = *std::move(times);
  }
  if (json.contains("settings")) {
    auto settings = run_settings_from_json(json.at("settings"), "settings");
    if (!settings) throw std::invalid_argument(settings.error().message);
    generation.settings = *std::move(settings);
  }
  generation.summary = summary_from(json.at("summary"));
  generation.placement.slots = list_from<Slot>(json.at("slots"), slot_from);
  generation.placement.replicas = list_from<ReplicaPlacement>(json.at("replicas"), replica_placement_from);
  generation.members = list_from<Member>(json.at("members"), member_from);
  generation.rendezvous = json.at("rendezvous");
  generation.releases_gpus = json.at("releasesGpus");
  generation.is_leased = json.value("leased", false);
  const auto reason = reason_from_string(json.at("reason").get<std::string>());
  if (!reason) throw std::invalid_argument("unknown reason " + json.at("reason").dump());
  generation.reason = *reason;
  generation.message = json.at("message");
  generation.caused_at = time_from(json.at("causedAt"));
  const bool knows_end = json.contains("leaveBy");  // older operators did not write it
  generation.leave_by = knows_end ? time_from(json.at("leaveBy")) : generation.caused_at + kTerminationNotice;
  generation.asked_at = time_from(json.at("askedAt"));
  generation.decided_at = time_from(json.at("decidedAt"));
  generation.committed_at = time_from(json.at("committedAt"));
  generation.from_generation = json.at("fromGeneration");
  generation.from_gpus = json.at("fromGpus");
  return generation;
}

GenerationRecord record_from(const Json& json) {
  GenerationRecord record{generation_from(json)};
  record.job_uid = json.at("jobUid");
  record.spec_generation = json.at("jobGeneration");  // the key in stored records; it must not change
  record.min_pod_generation = json.at("minPodGeneration");
  record.last_issued = json.at("lastIssued");
  if (json.contains("running")) record.running = generation_from(json.at("running"));
  record.older = list_from<OlderRecord>(json.value("older", Json::array()), older_from);
  record.notified = json.value("notified", record.notified);
  record.restarts = json.at("restarts");
  record.last_failure = json.at("lastFailure");
  record.unresponsive_at_step = json.value("unresponsiveAtStep", record.unresponsive_at_step);
  record.not_before = time_from(json.at("notBefore"));
  record.quarantined_nodes = list_from<QuarantinedNode>(json.at("quarantinedNodes"), quarantined_node_from);
  // Older operators did not write these three.
  if (json.contains("forgone")) record.forgone = forgone_from(json.at("forgone"));
  record.slow_gpus = list_from<SlowGpu>(json.value("slowGpus", Json::array()), slow_gpu_from);
  record.pool_refusals = list_from<PoolRefusal>(json.value("poolRefusals", Json::array()), pool_refusal_from);
  record.unreachable_pods = json.value("unreachablePods", record.unreachable_pods);
  return record;
}

}  // namespace

PlanSummary summary_of(const Estimate& estimate, double bound_ratio) {
  return {estimate.iteration.value(),
          estimate.tokens_per_second,
          estimate.gpu_cost_per_iteration.value(),
          estimate.traffic_cost_per_iteration.value(),
          estimate.cost_per_hour.value(),
          bound_ratio,
          estimate.expected_loss.failures_per_hour};
}

Json to_json(const GenerationRecord& record) {
  Json json = generation_json(record);
  json.update({{"jobUid", record.job_uid},
               {"jobGeneration", record.spec_generation},
               {"minPodGeneration", record.min_pod_generation},
               {"lastIssued", record.last_issued},
               {"older", list_json(record.older, older_json)},
               {"notified", record.notified},
               {"restarts", record.restarts},
               {"lastFailure", record.last_failure},
               {"unresponsiveAtStep", record.unresponsive_at_step},
               {"notBefore", time_text(record.not_before)},
               {"quarantinedNodes", list_json(record.quarantined_nodes, quarantined_node_json)},
               {"poolRefusals", list_json(record.pool_refusals, pool_refusal_json)},
               {"slowGpus", list_json(record.slow_gpus, slow_gpu_json)},
               {"unreachablePods", record.unreachable_pods}});
  if (record.forgone != Forgone()) json["forgone"] = forgone_json(record.forgone);
  if (record.running) json["running"] = generation_json(*record.running);
  return json;
}

Result<GenerationRecord> record_from_json(const Json& json) {
  try {
    return record_from(json);
  } catch (const std::exception& error) {  // a JSON error, or an invalid pool or plan
    return fail(ErrorCode::kInvalidArgument, std::string("the record is damaged: ") + error.what());
  }
}

const Stage& Generation::stage_of(const ReplicaPlacement& placed) const {
  return plan.stages.at(static_cast<std::size_t>(placed.stage));
}

const Replica& Generation::replica_of(const ReplicaPlacement& placed) const {
  return stage_of(placed).replicas.at(static_cast<std::size_t>(placed.replica));
}

const Slot& Generation::slot_of(const ReplicaPlacement& placed) const {
  return placement.slots.at(static_cast<std::size_t>(placed.slot));
}

std::vector<int> Generation::gpus_of(const ReplicaPlacement& placed) const {
  const Slot& slot = slot_of(placed);
  std::vector<int> gpus(static_cast<std::size_t>(replica_of(placed).tensor_parallel));
  std::ranges::generate(gpus, [&, place = placed.first_gpu]() mutable { return slot.gpu_at(place++); });
  return gpus;
}

bool leaves_urgently(const Generation& generation, const Member& member) {
  return member.leaves && !is_voluntary(generation.reason);
}

bool pauses_job(const Generation& generation) {
  return generation.releases_gpus &&
         (generation.reason == Reason::kSuspended || generation.reason == Reason::kWaitingForCapacity ||
          generation.reason == Reason::kWaitingForQuota);
}

}  // namespace sailor
