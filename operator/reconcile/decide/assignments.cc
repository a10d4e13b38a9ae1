#include "operator/reconcile/decide/assignments.h"

#include <algorithm>
#include <memory>

#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

// Returns whether the agent or all its workers know this generation.
bool knows(const AgentView& agent, std::int64_t generation) {
  if (agent.report.value().assigned_generation >= generation) return true;
  const auto& workers = agent.report.value().workers;
  return !workers.empty() && std::ranges::all_of(workers, [&](const WorkerReport& worker) {
    return worker.generation >= generation || worker.phase == WorkerPhase::kFinished ||
           worker.phase == WorkerPhase::kFailed;
  });
}

}  // namespace

void send_assignments(PolicyResult& result, const Observation& observation, const GenerationRecord& record) {
  const auto assignment =
      std::make_shared<const Assignment>(assignment_of(record, *observation.job.spec, observation.settings.callback));
  for (const Member& member : record.members) {
    const AgentView* agent = find_answering(observation, member);
    if (agent == nullptr || knows(*agent, record.generation)) continue;
    result.actions.emplace_back(SendAssignment{member.pod_uid, member.address, assignment});
  }
}

void update_callbacks(PolicyResult& result, const Observation& observation) {
  const std::string& callback = observation.settings.callback;
  if (callback.empty()) return;
  for (const PodView& pod : observation.pods) {
    const AgentView* agent = find_agent(observation, pod);
    if (!pod.is_ours || agent == nullptr || !agent->answers()) continue;
    const std::string& known = agent->report.value().callback;
    if (known.empty() || known == callback) continue;
    result.actions.emplace_back(UpdateCallback{pod.uid});
  }
}

}  // namespace sailor
