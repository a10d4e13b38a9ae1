// AgentState: what an agent knows and decides: which assignments it takes, which hints it sends, and when it ends. It
// is a value that events change; it does no input or output.
#pragma once

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
  AgentState(std::string name, int gpus);

  // kConflict: the assignment is not newer than the one that this agent obeys. kInvalidArgument: it is not for this
  // agent.
  Result<void> take(const Assignment& assignment);
  void note(const WorkerReport& worker, const std::optional<JobProgress>& progress);
  void note_end_of_worker(int gpu, const std::string& how);
  void note_unresponsive_worker(int gpu);  // the agent ended it, because it did not answer
  void note_peer(std::int64_t generation, const std::string& pod, bool is_unresponsive);
  void note_callback(const std::string& callback) { report_.callback = callback; }
  void note_termination();  // SIGTERM
  // The operator answered a hint: nothing needs this agent. Counts only if the pod was told to stop before.
  void note_dismissal();

  [[nodiscard]] const AgentReport& report() const { return report_; }
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  [[nodiscard]] const std::string& job_uid() const { return job_uid_; }  // empty: no assignment yet
  std::vector<Hint> take_hints();                                        // since the last call

  // Set once there is nothing more to do or a worker has failed. The values are in core/protocol/exit_status.h.
  [[nodiscard]] std::optional<int> exit_status() const;

 private:
  void hint(HintReason reason, const std::string& message);
  void hint_once(HintReason reason, const std::string& message);
  [[nodiscard]] bool all_workers_are(std::initializer_list<WorkerPhase> phases) const;

  AgentReport report_;
  std::int64_t generation_ = 0;
  bool is_dismissed_ = false;
  std::ptrdiff_t unresponsive_workers_ = 0;  // included in those that failed
  JobKey job_;
  std::string job_uid_;
  std::vector<Hint> hints_;
  std::vector<std::pair<HintReason, std::int64_t>> hinted_;  // reason and generation
};

}  // namespace sailor::trainer
