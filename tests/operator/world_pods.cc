// World's kubelets and agents: pods start, take assignments and train, fail and finish.
#include <algorithm>

#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "core/protocol/exit_status.h"
#include "operator/model/names.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

JobProgress first_step_of(std::int64_t generation) {
  return {.generation = generation,
          .step = 10 * generation + 1,
          .resumed_step = 10 * generation,
          .source = StateSource::kMemory,
          .streamed_bytes = 2400,
          .moved_bytes = 1200,
          .times = {0.2, 0.1, 0.05, 0.4}};
}

// As its kubelet tells it: `word` is what its agent left behind.
Json ended(Json pod, const std::string& phase, int exit_code, const AgentReport& word) {
  const Json terminated = {
      {"exitCode", exit_code}, {"reason", exit_code == 0 ? "Completed" : "Error"}, {"message", to_json(word).dump()}};
  pod["status"]["phase"] = phase;
  pod["status"]["containerStatuses"] = Json::array({{{"name", "trainer"}, {"state", {{"terminated", terminated}}}}});
  return pod;
}

}  // namespace

// What rank 0 reports once the workers have saved the newest step that one of them has reported.
std::optional<JobProgress> World::saved(const Assignment& assignment) const {
  std::optional<JobProgress> newest;
  for (const auto& [uid, agent] : agents) {
    if (!agent.report || !agent.report->progress) continue;
    const bool takes_part =
        std::ranges::find(assignment.agents, agent.report->agent, &AgentAddress::name) != assignment.agents.end();
    if (takes_part && (!newest || agent.report->progress->step > newest->step)) newest = agent.report->progress;
  }
  if (!newest || assignment.checkpoint.path.empty()) return std::nullopt;
  newest->generation = assignment.generation;
  newest->resumed_step = newest->last_checkpoint_step = newest->step;
  return newest;
}

// The first worker with a role reports the job's progress: one step, as soon as it trains.
void World::train(const std::string& pod_uid, const Assignment& assignment) {
  AgentView& agent = agents[pod_uid];
  if (!agent.report) return;
  agent.report->callback = assignment.callback;
  const std::optional<JobProgress> saved_before = saved(assignment);
  agent.report->progress.reset();
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) {
    const WorkerSlot& slot = assignment.workers[static_cast<std::size_t>(rank)];
    if (assignment.agents[static_cast<std::size_t>(slot.agent)].name != agent.report->agent) continue;
    WorkerReport& worker = agent.report->workers.at(static_cast<std::size_t>(slot.gpu));
    if (worker.generation >= assignment.generation || worker.phase == WorkerPhase::kFinished) continue;
    worker.generation = assignment.generation;
    worker.phase = slot.role ? WorkerPhase::kTraining : WorkerPhase::kReleased;
    if (assignment.releases_gpus && !checkpoint_fault.empty()) {
      worker.phase = WorkerPhase::kBroken;
      worker.message = checkpoint_fault;
    }
    if (rank == 0 && slot.role) agent.report->progress = first_step_of(assignment.generation);
    if (rank == 0 && worker.phase == WorkerPhase::kReleased) agent.report->progress = saved_before;
  }
  agent.broken_since = assignment.releases_gpus && !checkpoint_fault.empty() ? std::optional(now) : std::nullopt;
}

int World::free_gpus_of(const std::string& name) const {
  const Json node = api_server.find("nodes", name);
  if (node.is_null()) return -1;
  int gpus = parse_number<int>(kube::text_at(node, {"status", "allocatable", kGpuResource})).value_or(0);
  for (const Json& pod : api_server.all("pods")) {
    if (kube::text_at(pod, {"spec", "nodeName"}) == name) gpus -= gpus_of_pod(pod);
  }
  return gpus;
}

void World::live() {
  int address = 1;
  for (Json pod : api_server.all("pods")) {
    ++address;
    if (!kube::text_at(pod, {"status", "phase"}).empty()) continue;
    const std::string node = node_of_pod(pod);
    const bool is_bound = !kube::text_at(pod, {"spec", "nodeName"}).empty();
    if (stuck_nodes.contains(node) || (!is_bound && free_gpus_of(node) < gpus_of_pod(pod))) continue;
    pod["spec"]["nodeName"] = node;
    pod["status"].update({{"phase", "Running"}, {"podIP", fmt::format("10.0.0.{}", address)}});
    api_server.put(kPods, pod);
    AgentReport report{kube::name_of(pod), false, {}, std::nullopt};
    const WorkerPhase phase = workers_are_mute ? WorkerPhase::kStarting : WorkerPhase::kIdle;
    for (int gpu = 0; gpu < gpus_of_pod(pod); ++gpu) report.workers.push_back({gpu, phase, 0, 0, ""});
    agents[kube::uid_of(pod)] = {report, 0, std::nullopt};
  }
  if (!agents_hang) {
    for (const auto& [uid, assignment] : mail_) {
      if (!is_frozen(uid)) train(uid, *assignment);
    }
  }
  mail_.clear();
}

void World::deliver_one(std::size_t which) {
  const auto mail = std::next(mail_.begin(), static_cast<std::ptrdiff_t>(which));
  if (!agents_hang && !is_frozen(mail->first)) train(mail->first, *mail->second);
  mail_.erase(mail);
}

void World::do_step(const std::map<Gpu, double>& slowdowns, double step_seconds) {
  ++steps_reported;
  for (const Json& pod : api_server.all("pods")) {
    const auto agent = agents.find(kube::uid_of(pod));
    if (agent == agents.end() || !agent->second.report) continue;
    AgentReport& report = *agent->second.report;
    if (report.progress) {
      ++report.progress->step;
      report.progress->step_seconds = step_seconds;
    }
    for (WorkerReport& worker : report.workers) {
      const auto slow = slowdowns.find({node_of_pod(pod), worker.gpu});
      // No two measurements are equal.
      const double seconds =
          (slow == slowdowns.end() ? 1 : slow->second) * (1 + 1e-6 * static_cast<double>(steps_reported));
      if (worker.phase == WorkerPhase::kTraining) ++worker.step;
      worker.microbatch_seconds = worker.phase == WorkerPhase::kTraining ? std::optional(seconds) : std::nullopt;
      worker.probe_seconds = worker.phase == WorkerPhase::kReleased ? std::optional(seconds) : std::nullopt;
    }
  }
}

void World::speak() {
  workers_are_mute = false;
  for (auto& [uid, agent] : agents) {
    for (WorkerReport& worker : agent.report->workers) {
      if (worker.phase == WorkerPhase::kStarting) worker.phase = WorkerPhase::kIdle;
    }
  }
}

void World::break_peers() {
  for (auto& [uid, agent] : agents) {
    if (!agent.report || agent.unanswered_polls > 0) continue;
    for (WorkerReport& worker : agent.report->workers) worker.phase = WorkerPhase::kBroken;
    agent.broken_since = now;
  }
}

void World::fail_pod(const std::string& name, const std::string& why) {
  end_pod(name, kExitFailed, {.phase = WorkerPhase::kFailed, .message = why});
}

void World::tell_failure(const std::string& name, const std::string& why) {
  AgentView& agent = agents.at(kube::uid_of(api_server.find("pods", name)));
  AgentReport& report = agent.report.value();
  for (WorkerReport& worker : report.workers) {
    worker.phase = WorkerPhase::kFailed;
    worker.message = why;
  }
  report.exit_status = kExitFailed;
  agent.unanswered_polls = kHighestPollCount;
}

void World::silence_worker(const std::string& name, std::int64_t step) {
  end_pod(name, kExitWorkerUnresponsive, {.phase = WorkerPhase::kFailed, .step = step, .message = "it did not answer"});
}

void World::end_pod(const std::string& name, int exit_code, const WorkerReport& last) {
  const Json pod = api_server.find("pods", name);
  AgentReport word = agents[kube::uid_of(pod)].report.value_or(AgentReport{name, false, {{}}, std::nullopt});
  for (WorkerReport& worker : word.workers) {
    worker = {worker.gpu, last.phase, worker.generation, last.step, last.message};
  }
  api_server.put(kPods, ended(pod, "Failed", exit_code, word));
  agents.erase(kube::uid_of(pod));
}

void World::evict(const std::string& node, std::chrono::seconds grace) {
  Json pod = api_server.find("pods", pod_on(node));
  pod["metadata"]["deletionTimestamp"] = to_rfc3339(now + grace);
  pod["metadata"]["deletionGracePeriodSeconds"] = grace.count();
  api_server.put(kPods, pod);
}

void World::finish_pod(const std::string& name) {
  const Json pod = api_server.find("pods", name);
  AgentReport word = *agents.at(kube::uid_of(pod)).report;
  for (WorkerReport& worker : word.workers) {
    worker.phase = WorkerPhase::kFinished;
    const auto known = std::ranges::find_if(sent, [&](const Assignment& assignment) {
      return assignment.generation == worker.generation &&
             short_job_name(assignment.job.name) == kube::label_of(pod, kJobNameLabel);
    });
    if (known != sent.end()) worker.step = known->training.steps;
  }
  api_server.put(kPods, ended(pod, "Succeeded", 0, word));
  agents.erase(kube::uid_of(pod));
}

void World::finish_pods() {
  for (const Json& pod : api_server.all("pods")) {
    if (agents.contains(kube::uid_of(pod))) finish_pod(kube::name_of(pod));
  }
}

}  // namespace sailor::testing
