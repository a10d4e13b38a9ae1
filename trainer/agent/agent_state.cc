#include "trainer/agent/agent_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/model/check.h"
#include "core/protocol/exit_status.h"
#include "trainer/elastic/protocol/agent_rule.h"

namespace sailor::trainer {
namespace {

bool is_final(WorkerPhase phase) {
  return phase == WorkerPhase::kFinished || phase == WorkerPhase::kReleased || phase == WorkerPhase::kFailed;
}

}  // namespace

AgentState::AgentState(std::string name, int gpus, std::string pod_uid) {
  report_.agent = std::move(name);
  report_.pod_uid = std::move(pod_uid);
  for (int gpu = 0; gpu < gpus; ++gpu)
    report_.workers.push_back({.gpu = gpu, .phase = WorkerPhase::kStarting, .message = ""});
}

Result<void> AgentState::take(const Assignment& assignment) {
  const auto is_own = [&](const AgentAddress& agent) { return agent.name == report_.agent; };
  const auto own = std::ranges::find_if(assignment.agents, is_own);
  if (own == assignment.agents.end()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("generation {} of job {} names no agent {}", assignment.generation,
                            to_string(assignment.job), report_.agent));
  }
  if (own->gpus > std::ssize(report_.workers)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("generation {} wants {} GPUs of agent {}, which has {}", assignment.generation, own->gpus,
                            report_.agent, report_.workers.size()));
  }
  if (!job_uid_.empty() && job_uid_ != assignment.job_uid) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("agent {} belongs to the job of uid {}, not {}", report_.agent,
                                                         job_uid_, assignment.job_uid));
  }
  if (!accepts(generation_, assignment.generation)) {
    return fail(ErrorCode::kConflict,
                fmt::format("generation {} is not newer than {}", assignment.generation, generation_));
  }
  job_ = assignment.job;
  job_uid_ = assignment.job_uid;
  generation_ = assignment.generation;
  report_.assigned_generation = generation_;
  report_.unresponsive_peers.clear();
  return {};
}

void AgentState::note_claim(std::int64_t older_generation, const Result<void>& claimed) {
  if (claimed) report_.superseded_claim = older_generation;
  report_.claim_error = claimed ? "" : claimed.error().message;
}

void AgentState::note(const WorkerReport& worker, const std::optional<JobProgress>& progress) {
  SAILOR_CHECK(worker.gpu >= 0 && worker.gpu < std::ssize(report_.workers), "a report of GPU {}", worker.gpu);
  report_.workers[static_cast<std::size_t>(worker.gpu)] = worker;
  if (progress) report_.progress = progress;
  // Progress of a generation whose rank 0 ran here must not be reported for a later generation.
  if (report_.progress && report_.progress->generation < worker.generation && worker.phase == WorkerPhase::kTraining) {
    report_.progress.reset();
  }
  if (worker.phase == WorkerPhase::kBroken) hint_once(HintReason::kPeerLost, worker.message);
  if (worker.phase == WorkerPhase::kFailed) hint_once(HintReason::kWorkerFailed, worker.message);
  if (worker.phase == WorkerPhase::kFinished) hint_once(HintReason::kFinished, "all steps are done");
}

void AgentState::note_end_of_worker(int gpu, const std::string& how) {
  WorkerReport& worker = report_.workers.at(static_cast<std::size_t>(gpu));
  if (is_final(worker.phase)) return;
  worker.phase = WorkerPhase::kFailed;
  worker.message =
      fmt::format("the worker process of GPU {} of {} {} at step {}", gpu, report_.agent, how, worker.step);
  hint_once(HintReason::kWorkerFailed, worker.message);
}

void AgentState::note_unresponsive_worker(int gpu) {
  if (!is_final(report_.workers.at(static_cast<std::size_t>(gpu)).phase)) ++unresponsive_workers_;
  note_end_of_worker(gpu, "did not answer and was killed");
}

void AgentState::note_peer(std::int64_t generation, const std::string& pod, bool is_unresponsive) {
  if (generation != generation_) return;  // the generation is over
  std::erase(report_.unresponsive_peers, pod);
  if (!is_unresponsive) return;
  report_.unresponsive_peers.push_back(pod);
  hint(HintReason::kPeerLost, fmt::format("pod {} does not answer", pod));
}

void AgentState::note_termination() {
  report_.is_terminating = true;
  hint_once(HintReason::kTerminating, "the pod was told to stop");
}

// The operator may need an agent again as long as its pod has not been told to stop.
void AgentState::note_dismissal() { is_dismissed_ = report_.is_terminating; }

std::vector<Hint> AgentState::take_hints() { return std::exchange(hints_, {}); }

std::optional<int> AgentState::exit_status() const {
  const auto failed = [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kFailed; };
  const auto failures = std::ranges::count_if(report_.workers, failed);
  if (failures > 0) return failures > unresponsive_workers_ ? kExitFailed : kExitWorkerUnresponsive;
  const auto finished = [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kFinished; };
  const bool nobody_is_needed =
      all_workers_are({WorkerPhase::kStarting, WorkerPhase::kIdle, WorkerPhase::kReleased, WorkerPhase::kFinished});
  const bool is_done = nobody_is_needed && std::ranges::any_of(report_.workers, finished);
  const bool may_stop = nobody_is_needed && report_.is_terminating;
  return is_done || may_stop || is_dismissed_ ? std::optional(kExitDone) : std::nullopt;
}

// One hint for each reason and generation, because the workers of a pod lose the same peer at the same time.
void AgentState::hint_once(HintReason reason, const std::string& message) {
  const std::pair key(reason, generation_);
  if (std::ranges::find(hinted_, key) != hinted_.end()) return;
  hinted_.push_back(key);
  hint(reason, message);
}

void AgentState::hint(HintReason reason, const std::string& message) {
  hints_.push_back({.job = job_, .job_uid = job_uid_, .agent = report_.agent, .reason = reason, .message = message});
}

bool AgentState::all_workers_are(std::initializer_list<WorkerPhase> phases) const {
  return std::ranges::all_of(report_.workers, [&](const WorkerReport& worker) {
    return std::ranges::find(phases, worker.phase) != phases.end();
  });
}

}  // namespace sailor::trainer
