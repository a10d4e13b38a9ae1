#include "core/protocol/agent_report.h"

#include <fmt/format.h>

#include "core/model/enum_names.h"
#include "core/model/json_reader.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

constexpr EnumName<WorkerPhase> kPhases[] = {
    {WorkerPhase::kStarting, "Starting"}, {WorkerPhase::kIdle, "Idle"},     {WorkerPhase::kPreparing, "Preparing"},
    {WorkerPhase::kTraining, "Training"}, {WorkerPhase::kBroken, "Broken"}, {WorkerPhase::kReleased, "Released"},
    {WorkerPhase::kFinished, "Finished"}, {WorkerPhase::kFailed, "Failed"}};

constexpr EnumName<StateSource> kSources[] = {{StateSource::kStart, "Start"},
                                              {StateSource::kMemory, "Memory"},
                                              {StateSource::kPeerReplica, "Copy"},
                                              {StateSource::kCheckpoint, "Checkpoint"}};

Json times_json(const RegroupTimes& times) {
  return {{"regroup", times.regroup_seconds},
          {"transfer", times.transfer_seconds},
          {"firstStep", times.first_step_seconds},
          {"stopped", times.stopped_seconds}};
}

RegroupTimes times_from_json(JsonReader& outer) {
  JsonReader reader(outer.child("times"), outer.path_of("times"));
  const RegroupTimes times{.regroup_seconds = reader.value_or("regroup", 0.0),
                           .transfer_seconds = reader.value_or("transfer", 0.0),
                           .first_step_seconds = reader.value_or("firstStep", 0.0),
                           .stopped_seconds = reader.value_or("stopped", 0.0)};
  if (const auto& error = reader.error()) outer.absorb(*error);
  return times;
}

Json worker_json(const WorkerReport& worker) {
  Json json = {{"gpu", worker.gpu},
               {"phase", name_of(kPhases, worker.phase)},
               {"generation", worker.generation},
               {"step", worker.step},
               {"message", worker.message}};
  if (worker.unsent != UnsentState{}) {
    json["unsentBytes"] = worker.unsent.bytes;
    json["sentBytesPerSecond"] = worker.unsent.bytes_per_second;
  }
  if (worker.microbatch_seconds) json["microbatchSeconds"] = *worker.microbatch_seconds;
  if (worker.probe_seconds) json["probeSeconds"] = *worker.probe_seconds;
  return json;
}

Json progress_json(const JobProgress& progress) {
  Json json = {{"generation", progress.generation},
               {"step", progress.step},
               {"loss", progress.loss},
               {"firstLoss", progress.first_loss},
               {"tokens", progress.tokens},
               {"tokensPerSecond", progress.tokens_per_second},
               {"stepSeconds", progress.step_seconds},
               {"lastCheckpointStep", progress.last_checkpoint_step},
               {"resumedStep", progress.resumed_step},
               {"stepsLost", progress.steps_lost},
               {"stepsSkipped", progress.steps_skipped},
               {"source", name_of(kSources, progress.source)},
               {"streamedBytes", progress.streamed_bytes},
               {"movedBytes", progress.moved_bytes},
               {"times", times_json(progress.times)}};
  if (progress.validation_loss) json["validationLoss"] = *progress.validation_loss;
  return json;
}

Result<WorkerReport> worker_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  WorkerReport worker{.gpu = reader.required<int>("gpu"),
                      .phase = read_enum(reader, "phase", kPhases, WorkerPhase::kIdle),
                      .generation = reader.required<std::int64_t>("generation"),
                      .step = reader.required<std::int64_t>("step"),
                      .message = reader.value_or<std::string>("message", ""),
                      .unsent = {.bytes = reader.value_or<std::int64_t>("unsentBytes", 0),
                                 .bytes_per_second = reader.value_or("sentBytesPerSecond", 0.0)},
                      .microbatch_seconds = reader.optional<double>("microbatchSeconds"),
                      .probe_seconds = reader.optional<double>("probeSeconds")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return worker;
}

Result<JobProgress> progress_from_json(const Json& json) {
  JsonReader reader(json, "progress");
  JobProgress progress{.generation = reader.required<std::int64_t>("generation"),
                       .step = reader.required<std::int64_t>("step"),
                       .loss = reader.required<double>("loss"),
                       .first_loss = reader.required<double>("firstLoss"),
                       .tokens = reader.required<std::int64_t>("tokens"),
                       .tokens_per_second = reader.required<double>("tokensPerSecond"),
                       .step_seconds = reader.required<double>("stepSeconds"),
                       .last_checkpoint_step = reader.required<std::int64_t>("lastCheckpointStep"),
                       .resumed_step = reader.required<std::int64_t>("resumedStep"),
                       .steps_lost = reader.required<std::int64_t>("stepsLost"),
                       .steps_skipped = reader.value_or<std::int64_t>("stepsSkipped", 0),
                       .validation_loss = reader.optional<double>("validationLoss"),
                       .source = read_enum(reader, "source", kSources, StateSource::kStart),
                       .streamed_bytes = reader.value_or<std::int64_t>("streamedBytes", 0),
                       .moved_bytes = reader.value_or<std::int64_t>("movedBytes", 0),
                       .times = {}};
  if (reader.has("times")) progress.times = times_from_json(reader);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return progress;
}

// Seconds since 1970.
std::optional<std::chrono::sys_seconds> expiry_from_json(JsonReader& reader) {
  constexpr std::int64_t kEndOfYear9999 = 253'402'300'799;  // the last time that a certificate can contain
  const auto seconds = reader.optional<std::int64_t>("credentialsExpire");
  if (!seconds) return std::nullopt;
  if (*seconds < 0 || *seconds > kEndOfYear9999) reader.record("credentialsExpire", "must be seconds since 1970");
  return std::chrono::sys_seconds(std::chrono::seconds(*seconds));
}

}  // namespace

std::string_view to_string(WorkerPhase phase) { return name_of(kPhases, phase); }
std::string_view to_string(StateSource source) { return name_of(kSources, source); }

Json to_json(const AgentReport& report) {
  Json workers = Json::array();
  for (const WorkerReport& worker : report.workers) workers.push_back(worker_json(worker));
  Json json = {{"agent", report.agent},
               {"isTerminating", report.is_terminating},
               {"workers", std::move(workers)},
               {"callback", report.callback},
               {"unresponsivePeers", report.unresponsive_peers},
               {"assignedGeneration", report.assigned_generation},
               {"podUid", report.pod_uid}};
  if (report.superseded_claim > 0) json["supersededClaim"] = report.superseded_claim;
  if (!report.claim_error.empty()) json["claimError"] = report.claim_error;
  if (report.exit_status) json["exitStatus"] = *report.exit_status;
  if (report.credentials_expire) json["credentialsExpire"] = report.credentials_expire->time_since_epoch().count();
  if (report.progress) json["progress"] = progress_json(*report.progress);
  return json;
}

Result<AgentReport> agent_report_from_json(const Json& json) {
  JsonReader reader(json, "report");
  AgentReport report{.agent = reader.required<std::string>("agent"),
                     .is_terminating = reader.value_or("isTerminating", false),
                     .workers = {},
                     .progress = {},
                     .callback = reader.value_or<std::string>("callback", ""),
                     .unresponsive_peers = reader.value_or<std::vector<std::string>>("unresponsivePeers", {}),
                     .assigned_generation = reader.value_or<std::int64_t>("assignedGeneration", 0),
                     .pod_uid = reader.value_or<std::string>("podUid", ""),
                     .superseded_claim = reader.value_or<std::int64_t>("supersededClaim", 0),
                     .claim_error = reader.value_or<std::string>("claimError", ""),
                     .exit_status = reader.optional<int>("exitStatus"),
                     .credentials_expire = expiry_from_json(reader)};
  const Json& workers = reader.list("workers");
  for (std::size_t i = 0; i < workers.size() && !reader.error(); ++i) {
    auto worker = worker_from_json(workers[i], fmt::format("report.workers[{}]", i));
    if (!worker) {
      reader.absorb(worker.error());
    } else {
      report.workers.push_back(*std::move(worker));
    }
  }
  if (reader.has("progress")) {
    auto progress = progress_from_json(reader.child("progress"));
    if (progress) report.progress = *progress;
    if (!progress) reader.absorb(progress.error());
  }
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return report;
}

}  // namespace sailor
