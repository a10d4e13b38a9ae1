// AgentState: what an agent knows and decides: which assignments it takes, what it hints, when it ends. No input or
// output here: a value that is changed by events.
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

  // kConflict: not newer than what this agent obeys already; kInvalidArgument: not for this agent.
  Result<void> take(const Assignment& assignment);
  void note(const WorkerReport& worker, const std::optional<JobProgress>& progress);
  void note_end_of_worker(int gpu, const std::string& how);
  void note_silence_of_worker(int gpu);  // it gave no answer, and was ended for it
  void note_peer(std::int64_t generation, const std::string& pod, bool is_silent);
  void note_callback(const std::string& callback) { report_.callback = callback; }
  void note_termination();  // SIGTERM
  void note_dismissal();    // the operator's answer to a hint: nobody needs this agent; counts once it is told to stop

  [[nodiscard]] const AgentReport& report() const { return report_; }
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  [[nodiscard]] const std::string& job_uid() const { return job_uid_; }  // empty: of none yet
  std::vector<Hint> take_hints();                                        // those that are new since the last call

  // Once there is nothing more to do, or a worker failed: see core/protocol/exit_status.h.
  [[nodiscard]] std::optional<int> exit_status() const;

 private:
  void hint(HintReason reason, const std::string& message);
  void hint_once(HintReason reason, const std::string& message);
  [[nodiscard]] bool all_workers_are(std::initializer_list<WorkerPhase> phases) const;

  AgentReport report_;
  std::int64_t generation_ = 0;
  bool is_dismissed_ = false;
  std::ptrdiff_t silent_workers_ = 0;  // of those that failed
  JobKey job_;
  std::string job_uid_;
  std::vector<Hint> hints_;
  std::vector<std::pair<HintReason, std::int64_t>> hinted_;  // reason and generation
};

}  // namespace sailor::trainer
