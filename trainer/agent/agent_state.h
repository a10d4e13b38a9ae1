// AgentState: decides which assignments an agent accepts, which hints it sends to the operator (core/protocol/hint.h),
// and when it ends. Events change the state. The class does no input or output; agent.cc sends and receives.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"
#include "core/protocol/hint.h"

namespace sailor::trainer {

class AgentState {
 public:
  AgentState(std::string name, int gpus, std::string pod_uid = {});

  // Accepts the assignment or returns an error. kConflict: the assignment is not newer than the newest accepted one.
  // kInvalidArgument: the assignment is not for this agent.
  Result<void> take(const Assignment& assignment);
  void note(const WorkerReport& worker, const std::optional<JobProgress>& progress);
  void note_end_of_worker(int gpu, const std::string& how);
  void note_unresponsive_worker(int gpu);  // the agent killed the worker, because it did not answer
  void note_peer(std::int64_t generation, const std::string& pod, bool is_unresponsive);
  // Notes whether the claim of the older generation was superseded.
  void note_claim(std::int64_t older_generation, const Result<void>& claimed);
  void note_callback(const std::string& callback) { report_.callback = callback; }
  void note_credentials(std::chrono::sys_seconds expiry) { report_.credentials_expire = expiry; }
  void note_termination();  // the pod was told to stop (SIGTERM)
  // The operator has answered a hint that it no longer needs this agent. The answer counts only if the pod was told to
  // stop before; otherwise the operator may still assign a newer generation to the agent.
  void note_dismissal();

  [[nodiscard]] const AgentReport& report() const { return report_; }
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  [[nodiscard]] const std::string& job_uid() const { return job_uid_; }  // empty: no assignment yet
  std::vector<Hint> take_hints();  // returns the hints that arose since the last call

  // Returns a status as soon as the agent should end: all work is done, the pod was told to stop and is not needed any
  // more, or a worker has failed. The values are in core/protocol/exit_status.h.
  [[nodiscard]] std::optional<int> exit_status() const;

 private:
  void hint(HintReason reason, const std::string& message);
  void hint_once(HintReason reason, const std::string& message);
  [[nodiscard]] bool all_workers_are(std::initializer_list<WorkerPhase> phases) const;

  AgentReport report_;
  std::int64_t generation_ = 0;
  bool is_dismissed_ = false;
  std::ptrdiff_t unresponsive_workers_ = 0;  // the failed workers that failed because they did not answer
  JobKey job_;
  std::string job_uid_;
  std::vector<Hint> hints_;
  std::vector<std::pair<HintReason, std::int64_t>> hinted_;  // reason and generation
};

}  // namespace sailor::trainer
