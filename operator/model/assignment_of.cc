// Implements assignment_of(), which model/record.h declares: the assignment is a pure function of the record and the
// job.
#include <algorithm>
#include <set>

#include "core/model/check.h"
#include "core/protocol/lease.h"
#include "operator/model/record.h"
#include "operator/protocol/fencing.h"

namespace sailor {
namespace {

std::vector<WorkerSlot> training_workers(const GenerationRecord& record) {
  std::vector<WorkerSlot> workers;
  for (const ReplicaPlacement& placed : record.placement.replicas) {
    int shard = 0;
    for (const int gpu : record.gpus_of(placed)) {
      workers.push_back({placed.slot, gpu, Role{placed.stage, placed.replica, shard++}});
    }
  }
  return workers;
}

// Appends the GPUs without a role: all GPUs of the pods that leave, and the unneeded GPUs of the pods that stay.
void append_leaving(const GenerationRecord& record, std::vector<WorkerSlot>& workers) {
  std::set<std::pair<int, int>> used;
  for (const WorkerSlot& worker : workers) used.emplace(worker.agent, worker.gpu);
  for (int agent = 0; agent < std::ssize(record.members); ++agent) {
    const int gpus = record.members[static_cast<std::size_t>(agent)].address.gpus;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (!used.contains({agent, gpu})) workers.push_back({agent, gpu, std::nullopt});
    }
  }
}

bool is_urgent(const GenerationRecord& record) {
  return std::ranges::any_of(record.members, [&](const Member& member) { return leaves_urgently(record, member); });
}

}  // namespace

Assignment assignment_of(const GenerationRecord& record, const JobSpec& job, const std::string& callback) {
  SAILOR_CHECK(record.is_committed(), "an assignment of generation {}, whose addresses are not known",
               record.generation);
  const RunSettings settings = record.settings.value_or(run_settings_of(job));
  Assignment assignment;
  assignment.job = job.key;
  assignment.job_uid = record.job_uid;
  assignment.generation = record.generation;
  assignment.model = job.model;
  assignment.training = settings.training;
  assignment.data = job.data;
  assignment.checkpoint = settings.checkpoint;
  assignment.streaming_slowdown_percent = settings.streaming_slowdown_percent;
  assignment.failures_per_hour = record.summary.failures_per_hour;
  assignment.plan = record.plan;
  assignment.schedule_times = record.schedule_times;
  for (const Member& member : record.members) assignment.agents.push_back(member.address);
  assignment.releases_gpus = record.releases_gpus;
  if (!record.releases_gpus) assignment.workers = training_workers(record);
  append_leaving(record, assignment.workers);
  if (is_urgent(record)) assignment.leave_by = record.leave_by;
  assignment.rendezvous = record.rendezvous;
  assignment.lease_seconds = record.is_leased ? static_cast<int>(kLeaseLength.count()) : 0;
  assignment.callback = callback;
  return assignment;
}

}  // namespace sailor
