// AgentReport: the state of an agent and of its workers. An agent answers polls with it, and leaves it as termination
// report when its pod ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

enum class WorkerPhase {
  kStarting,   // its process has not reported yet
  kIdle,       // has no assignment yet
  kPreparing,  // regroups: connects to its peers and receives state
  kTraining,
  kBroken,    // has lost a peer; keeps its state and waits for a newer generation
  kReleased,  // has no role in its newest generation, and no worker needs its state any more
  kFinished,  // all steps are done
  kFailed,    // cannot continue for a reason of its own, which is in `message`: unreadable data, a bug
};

std::string_view to_string(WorkerPhase phase);  // "Starting", "Idle", ...

struct WorkerReport {
  int gpu = 0;
  WorkerPhase phase = WorkerPhase::kIdle;
  std::int64_t generation = 0;  // the newest generation that it obeys; 0: none
  std::int64_t step = 0;        // optimizer steps that are in its state
  std::string message;          // a sentence that says why it is broken or failed
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

// The source of a generation's state.
enum class StateSource {
  kStart,        // none: the job begins at step 0
  kMemory,       // workers that had it
  kPeerReplica,  // the replica that a peer keeps of a lost worker's state
  kCheckpoint,   // the newest complete checkpoint
};

std::string_view to_string(StateSource source);  // "Start", "Memory", ...

// How long the start of a generation took, as its rank 0 measured it. 0: unknown, or not over yet.
struct RegroupTimes {
  double regroup_seconds = 0;     // from the end of the last step, or the assignment, until all workers are connected
  double transfer_seconds = 0;    // after that, until all workers have their state
  double first_step_seconds = 0;  // after that, until the first step is done
  double stopped_seconds = 0;     // from the last step before it to its first step: the downtime
  friend bool operator==(const RegroupTimes&, const RegroupTimes&) = default;
};

// The progress of the whole job, which the worker of rank 0 knows.
struct JobProgress {
  std::int64_t generation = 0;
  std::int64_t step = 0;                  // optimizer steps done
  double loss = 0;                        // of the last step: mean over its tokens, natural logarithm
  double first_loss = 0;                  // the loss of the job's first step
  std::int64_t tokens = 0;                // of all steps since the job began; repeated steps count once
  double tokens_per_second = 0;           // over the last few steps of this generation
  double step_seconds = 0;                // mean over the same steps
  std::int64_t last_checkpoint_step = 0;  // the step of the newest complete checkpoint; 0: none
  std::int64_t resumed_step = 0;          // the step at which this generation began
  std::int64_t steps_lost = 0;            // steps whose work was thrown away when this generation began
  std::int64_t steps_skipped =
      0;  // steps of this generation without an update, because loss or gradient was not finite
  std::optional<double> validation_loss;  // of the newest evaluation: mean over its tokens
  StateSource source = StateSource::kStart;
  std::int64_t streamed_bytes = 0;  // state that joining workers received before training stopped for this generation
  std::int64_t moved_bytes = 0;     // state that went from worker to worker during the downtime
  RegroupTimes times = {};
  friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

struct AgentReport {
  std::string agent;
  bool is_terminating = false;  // its pod was told to stop by SIGTERM
  std::vector<WorkerReport> workers;
  std::optional<JobProgress> progress;  // set by the agent whose worker has rank 0
  std::string callback = {};            // URL to which it sends hints; empty: it knows none
  bool takes_schedule_times = true;     // false: its version is older than schedule times in assignments
  // Names of the pods of its generation that it probes and that do not answer.
  std::vector<std::string> unresponsive_peers = {};
  friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

nlohmann::json to_json(const AgentReport& report);
Result<AgentReport> agent_report_from_json(const nlohmann::json& json);

}  // namespace sailor
