#include "core/protocol/assignment.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/model/job_json.h"
#include "core/model/json_reader.h"
#include "core/model/plan_json.h"
#include "core/protocol/claim.h"
#include "core/protocol/limits.h"

namespace sailor {
namespace {

Json agent_json(const AgentAddress& agent) {
  return {{"name", agent.name},
          {"host", agent.host},
          {"port", agent.port},
          {"storePort", agent.store_port},
          {"pool", to_string(agent.pool)},
          {"gpus", agent.gpus}};
}

Json slot_json(const WorkerSlot& worker) {
  Json json = {{"agent", worker.agent}, {"gpu", worker.gpu}};
  if (worker.role) {
    json["role"] = {{"stage", worker.role->stage}, {"replica", worker.role->replica}, {"shard", worker.role->shard}};
  }
  return json;
}

Result<AgentAddress> agent_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  AgentAddress agent{.name = reader.required<std::string>("name"),
                     .host = reader.required<std::string>("host"),
                     .port = reader.required<int>("port"),
                     .store_port = reader.required<int>("storePort"),
                     .pool = {},
                     .gpus = reader.required<int>("gpus")};
  const auto pool = parse_pool_key(reader.required<std::string>("pool"));
  if (!pool) reader.absorb(pool.error());
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  agent.pool = *pool;
  return agent;
}

Result<WorkerSlot> slot_from_json(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  WorkerSlot worker{reader.required<int>("agent"), reader.required<int>("gpu"), std::nullopt};
  if (reader.has("role")) {
    JsonReader role(reader.child("role"), reader.path_of("role"));
    worker.role = Role{role.required<int>("stage"), role.required<int>("replica"), role.required<int>("shard")};
    if (const auto& error = role.error()) reader.absorb(*error);
  }
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return worker;
}

// Reads an array of objects, each with its own reader; the first error ends it.
template <class T, class Read>
void read_all(JsonReader& reader, std::string_view key, std::vector<T>& into, Read read) {
  const Json& array = reader.list(key);
  for (std::size_t i = 0; i < array.size() && !reader.error(); ++i) {
    auto element = read(array[i], fmt::format("{}[{}]", reader.path_of(key), i));
    if (!element) return reader.absorb(element.error());
    into.push_back(*std::move(element));
  }
}

template <class T>
void take(JsonReader& reader, Result<T> read, T& into) {
  if (!read) return reader.absorb(read.error());
  into = *std::move(read);
}

Result<void> incomplete(const Assignment& assignment, const std::string& what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("generation {} of job {}: {}", assignment.generation, to_string(assignment.job), what));
}

std::set<std::tuple<int, int, int>> roles_of(const Plan& plan) {
  std::set<std::tuple<int, int, int>> roles;
  for (int stage = 0; stage < std::ssize(plan.stages); ++stage) {
    const auto& replicas = plan.stages[static_cast<std::size_t>(stage)].replicas;
    for (int replica = 0; replica < std::ssize(replicas); ++replica) {
      const int shards = replicas[static_cast<std::size_t>(replica)].tensor_parallel;
      for (int shard = 0; shard < shards; ++shard) roles.emplace(stage, replica, shard);
    }
  }
  return roles;
}

// A generation that releases the GPUs has no plan. A job may change while it trains whether it recomputes activations,
// partitions tokens and keeps peer replicas. So the plan need not agree with these settings.
Result<void> check_plan(const Assignment& assignment) {
  if (assignment.releases_gpus) return {};
  JobSpec job;
  job.model = assignment.model;
  job.training = assignment.training;
  job.training.activation_checkpointing = ActivationCheckpointing::kAuto;
  job.training.sequence_parallelism =
      assignment.plan.sequence_parallelism ? SequenceParallelism::kAlways : SequenceParallelism::kNever;
  auto checked = check_well_formed(assignment.plan, job);
  return checked ? checked : incomplete(assignment, checked.error().message);
}

}  // namespace

int Assignment::training_workers() const {
  return static_cast<int>(std::ranges::count_if(workers, [](const WorkerSlot& slot) { return slot.role.has_value(); }));
}

Json to_json(const Assignment& assignment) {
  Json agents = Json::array();
  for (const AgentAddress& agent : assignment.agents) agents.push_back(agent_json(agent));
  Json workers = Json::array();
  for (const WorkerSlot& worker : assignment.workers) workers.push_back(slot_json(worker));
  Json json = {{"namespace", assignment.job.namespace_name},
               {"job", assignment.job.name},
               {"jobUid", assignment.job_uid},
               {"generation", assignment.generation},
               {"model", to_json(assignment.model)},
               {"training", to_json(assignment.training)},
               {"data", to_json(assignment.data)},
               {"checkpoint", to_json(assignment.checkpoint)},
               {"streamingSlowdownPercent", assignment.streaming_slowdown_percent},
               {"failuresPerHour", assignment.failures_per_hour},
               {"plan", to_json(assignment.plan)},
               {"agents", std::move(agents)},
               {"workers", std::move(workers)},
               {"rendezvous", assignment.rendezvous},
               {"releasesGpus", assignment.releases_gpus},
               {"leaseSeconds", assignment.lease_seconds},
               {"callback", assignment.callback}};
  if (assignment.leave_by) json["leaveBy"] = assignment.leave_by->time_since_epoch().count();
  if (assignment.schedule_times) json["scheduleTimes"] = to_json(*assignment.schedule_times);
  return json;
}

Result<Assignment> assignment_from_json(const Json& json) {
  JsonReader reader(json, "assignment");
  Assignment assignment;
  assignment.job = {reader.required<std::string>("namespace"), reader.required<std::string>("job")};
  assignment.job_uid = reader.required<std::string>("jobUid");
  assignment.generation = reader.required<std::int64_t>("generation");
  assignment.rendezvous = reader.required<int>("rendezvous");
  assignment.releases_gpus = reader.value_or("releasesGpus", false);
  if (reader.has("leaveBy")) {
    assignment.leave_by.emplace(std::chrono::milliseconds(reader.required<std::int64_t>("leaveBy")));
  }
  assignment.streaming_slowdown_percent = reader.value_or("streamingSlowdownPercent", kStreamingSlowdownPercent);
  assignment.failures_per_hour = reader.value_or("failuresPerHour", 0.0);
  assignment.lease_seconds = reader.value_or("leaseSeconds", 0);
  if (assignment.lease_seconds < 0)
    reader.record("leaseSeconds", fmt::format("{} is below 0", assignment.lease_seconds));
  assignment.callback = reader.value_or<std::string>("callback", "");
  take(reader, model_from_json(reader.child("model"), "assignment.model"), assignment.model);
  take(reader, training_from_json(reader.child("training"), "assignment.training"), assignment.training);
  take(reader, data_from_json(reader.child("data"), "assignment.data"), assignment.data);
  take(reader, checkpoint_from_json(reader.child("checkpoint"), "assignment.checkpoint"), assignment.checkpoint);
  take(reader, plan_from_json(reader.child("plan")), assignment.plan);
  if (reader.has("scheduleTimes") && !reader.error()) {
    assignment.schedule_times.emplace();
    take(reader, schedule_times_from_json(reader.child("scheduleTimes"), assignment.plan, "assignment.scheduleTimes"),
         *assignment.schedule_times);
  }
  read_all(reader, "agents", assignment.agents, agent_from_json);
  read_all(reader, "workers", assignment.workers, slot_from_json);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  if (auto complete = check_complete(assignment); !complete) return tl::unexpected(complete.error());
  if (auto checked = check_path_names(assignment.job, assignment.job_uid); !checked)
    return tl::unexpected(checked.error());
  if (const auto& source = assignment.checkpoint.resume_from) {
    const JobKey job{assignment.job.namespace_name, source->job};
    if (auto checked = check_path_names(job, assignment.job_uid); !checked) return tl::unexpected(checked.error());
  }
  if (assignment.generation < 1 || assignment.generation > kLargestGeneration)
    return fail(ErrorCode::kInvalidArgument, fmt::format("generation {} is out of range", assignment.generation));
  return assignment;
}

Result<void> check_complete(const Assignment& assignment) {
  if (auto checked = check_plan(assignment); !checked) return checked;
  auto missing = assignment.releases_gpus ? std::set<std::tuple<int, int, int>>() : roles_of(assignment.plan);
  std::set<std::pair<int, int>> used;
  bool leaving_began = false;
  for (const WorkerSlot& worker : assignment.workers) {
    const bool agent_exists = worker.agent >= 0 && worker.agent < std::ssize(assignment.agents);
    if (!agent_exists || worker.gpu < 0 ||
        worker.gpu >= assignment.agents[static_cast<std::size_t>(worker.agent)].gpus) {
      return incomplete(assignment, fmt::format("GPU {} of agent {} does not exist", worker.gpu, worker.agent));
    }
    if (!used.emplace(worker.agent, worker.gpu).second) {
      return incomplete(assignment, fmt::format("GPU {} of agent {} is used twice", worker.gpu, worker.agent));
    }
    if (worker.role && leaving_began) return incomplete(assignment, "a leaving worker comes before one with a role");
    leaving_began = leaving_began || !worker.role;
    if (worker.role && missing.erase({worker.role->stage, worker.role->replica, worker.role->shard}) == 0) {
      return incomplete(assignment, fmt::format("stage {} replica {} shard {} is not to be run, or by two workers",
                                                worker.role->stage, worker.role->replica, worker.role->shard));
    }
  }
  if (!missing.empty()) return incomplete(assignment, fmt::format("{} roles have no worker", missing.size()));
  if (assignment.rendezvous < 0 || assignment.rendezvous >= std::ssize(assignment.agents)) {
    return incomplete(assignment, fmt::format("rendezvous agent {} does not exist", assignment.rendezvous));
  }
  return {};
}

}  // namespace sailor
