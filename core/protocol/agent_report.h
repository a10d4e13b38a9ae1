// AgentReport: the state of an agent and of its workers. The agent sends it as the answer to each poll. When the pod
// ends, the agent also writes it to the termination log of its container.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

enum class WorkerPhase {
  kStarting,   // the process has not reported yet
  kIdle,       // has no assignment
  kPreparing,  // connects to its peers and receives state
  kTraining,
  // Its generation cannot continue, usually because a peer is lost. It keeps its state and waits for a newer
  // generation.
  kBroken,
  kReleased,  // has no role in its newest generation, and no other worker needs its state any more
  kFinished,  // all steps are done
  kFailed,    // cannot continue because of its own error, for example unreadable data or a bug; see `message`
};

std::string_view to_string(WorkerPhase phase);  // "Starting", "Idle", ...

// State that a worker sends before its pod ends, because no worker that stays has it.
struct UnsentState {
  std::int64_t bytes = 0;       // that have not arrived yet
  double bytes_per_second = 0;  // how fast other workers have received state so far; 0: nothing has arrived yet
  friend bool operator==(const UnsentState&, const UnsentState&) = default;
};

struct WorkerReport {
  int gpu = 0;
  WorkerPhase phase = WorkerPhase::kIdle;
  std::int64_t generation = 0;  // the newest generation that the worker has started; 0: none
  std::int64_t step = 0;        // how many optimizer steps its state includes
  std::string message;          // one sentence: why it is broken, has failed, waits, or could not write a checkpoint
  UnsentState unsent = {};      // set only in an urgent change
  // How long the forward and the backward pass of one microbatch take this worker together: the mean over the steps of
  // the last second, or over the last step if it is longer. It counts wall-clock time, without any waiting for other
  // workers. Set while the worker trains, from its second step of a generation on.
  std::optional<double> microbatch_seconds = {};
  // How long a fixed piece of work took on the GPU of a worker that is released: it shows whether a GPU that is too
  // slow to train has recovered.
  std::optional<double> probe_seconds = {};
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

// The source from which the workers of a generation get their state.
enum class StateSource {
  kStart,        // no source: the job begins at step 0
  kMemory,       // the memory of workers that had it
  kPeerReplica,  // the replica of a lost worker's state that a peer keeps
  kCheckpoint,   // the newest complete checkpoint
};

std::string_view to_string(StateSource source);  // "Start", "Memory", ...

// How long the start of a generation took, measured by the worker of rank 0. The phases follow one another. 0: the
// phase has not ended yet, or its length is unknown.
struct RegroupTimes {
  // From the end of the last step, or from the assignment, until all workers are connected.
  double regroup_seconds = 0;
  double transfer_seconds = 0;    // then until all workers have their state
  double first_step_seconds = 0;  // then until the first step is done
  double stopped_seconds = 0;  // the downtime: from the last step of the old generation to the first step of this one
  friend bool operator==(const RegroupTimes&, const RegroupTimes&) = default;
};

// The progress of the whole job, which the worker of rank 0 knows.
struct JobProgress {
  std::int64_t generation = 0;
  std::int64_t step = 0;                  // optimizer steps done so far
  double loss = 0;                        // the mean over the tokens of the last step, in nats
  double first_loss = 0;                  // the loss of the job's first step
  std::int64_t tokens = 0;                // processed in all steps since the job began; repeated steps count once
  double tokens_per_second = 0;           // over the last few steps of this generation
  double step_seconds = 0;                // the median of the same steps, so a downtime in one of them does not count
  std::int64_t last_checkpoint_step = 0;  // the step of the newest complete checkpoint; 0: none
  std::int64_t resumed_step = 0;          // the step from which this generation resumed
  // Steps that had to be repeated because this generation resumed from an older step.
  std::int64_t steps_lost = 0;
  // Steps of this generation without an update, because the loss or the gradient was not finite.
  std::int64_t steps_skipped = 0;
  std::optional<double> validation_loss;  // the mean over the tokens of the newest evaluation
  StateSource source = StateSource::kStart;
  std::int64_t streamed_bytes = 0;  // state that workers received before training stopped for this generation
  std::int64_t moved_bytes = 0;     // state that workers sent to each other during the downtime
  RegroupTimes times = {};
  friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

struct AgentReport {
  std::string agent;            // the name of the pod
  bool is_terminating = false;  // the agent has received SIGTERM
  std::vector<WorkerReport> workers;
  std::optional<JobProgress> progress;  // set only by the agent whose worker has rank 0
  std::string callback = {};            // the URL to which the agent sends hints; empty: it does not know one
  // Names of the pods of its generation that the agent probes and that do not answer.
  std::vector<std::string> unresponsive_peers = {};
  // The generation of the newest assignment that the agent has taken; 0: none. Its workers may follow much later,
  // because a worker that trains first prepares the new generation.
  std::int64_t assigned_generation = 0;
  std::string pod_uid = {};  // empty: an older agent, which does not know it
  std::int64_t superseded_claim =
      0;                         // the older generation whose claim of the folder the agent superseded last; 0: none
  std::string claim_error = {};  // why it could not; a sentence without a full stop
  // The status with which the agent is about to end (core/protocol/exit_status.h). Set once a worker has failed and all
  // workers have ended.
  std::optional<int> exit_status = {};
  std::optional<std::chrono::sys_seconds> credentials_expire = {};  // empty: the agent has none
  friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

nlohmann::json to_json(const AgentReport& report);
Result<AgentReport> agent_report_from_json(const nlohmann::json& json);

}  // namespace sailor
