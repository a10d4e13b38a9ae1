// AgentReport: what an agent says of itself when it is polled, and what a finished pod leaves as its last word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

enum class WorkerPhase {
  kStarting,   // its process has not spoken yet
  kIdle,       // has no assignment yet
  kPreparing,  // regroups: connects to its peers and takes over state
  kTraining,
  kBroken,    // lost a peer; holds its state and waits for a newer generation
  kReleased,  // has no role in its newest generation and nobody needs its state any more
  kFinished,  // all steps are done
  kFailed,    // cannot go on for a reason of its own (see message): unreadable data, a bug
};

std::string_view to_string(WorkerPhase phase);  // "Starting", "Idle", ...

struct WorkerReport {
  int gpu = 0;
  WorkerPhase phase = WorkerPhase::kIdle;
  std::int64_t generation = 0;  // the newest it obeys; 0: none
  std::int64_t step = 0;        // optimizer steps that its state contains
  std::string message;          // why it is broken or failed, a sentence
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

// Where a generation took its state from.
enum class StateSource {
  kStart,        // nowhere: it begins at step 0
  kMemory,       // workers that held it
  kPeerReplica,  // a copy that a peer kept for a worker that is gone
  kCheckpoint,   // the newest complete one
};

std::string_view to_string(StateSource source);  // "Start", "Memory", ...

// How a generation came about, as its rank 0 saw it. 0: not known, or not there yet.
struct RegroupTimes {
  double regroup_seconds = 0;     // from the end of the last step, or the assignment, until all workers are connected
  double transfer_seconds = 0;    // then, until all have their state
  double first_step_seconds = 0;  // then, until the first step is done
  double stopped_seconds = 0;     // from the last step before it to its first step: how long training stood still
  friend bool operator==(const RegroupTimes&, const RegroupTimes&) = default;
};

// Of the whole job, known by the worker of rank 0.
struct JobProgress {
  std::int64_t generation = 0;
  std::int64_t step = 0;                  // optimizer steps done
  double loss = 0;                        // mean of the last step's tokens, natural logarithm
  double first_loss = 0;                  // of the job's first step
  std::int64_t tokens = 0;                // trained on since the job began, repeated steps not counted
  double tokens_per_second = 0;           // over the last few steps of this generation
  double step_seconds = 0;                // likewise, the mean
  std::int64_t last_checkpoint_step = 0;  // of the newest complete checkpoint; 0: none
  std::int64_t resumed_step = 0;          // the step at which this generation began
  std::int64_t steps_lost = 0;            // steps whose work was thrown away when this generation began
  std::int64_t steps_skipped = 0;         // of this generation, left out because their loss or gradient was no number
  std::optional<double> validation_loss;  // of the newest evaluation, the mean of its tokens
  StateSource source = StateSource::kStart;
  std::int64_t streamed_bytes = 0;  // of the state, that newcomers had before training stopped for this generation
  std::int64_t moved_bytes = 0;     // that went from worker to worker while it stood still
  RegroupTimes times = {};
  friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

struct AgentReport {
  std::string agent;
  bool is_terminating = false;  // its pod was told to stop (SIGTERM)
  std::vector<WorkerReport> workers;
  std::optional<JobProgress> progress;  // of the agent that has rank 0
  std::string callback = {};            // URL that it sends hints to; empty: it was told none
  bool takes_schedule_times = true;     // of its assignments; false: its version is older than they are
  // Pods of its generation, by name, that it watches and that give it no answer.
  std::vector<std::string> unresponsive_peers = {};
  friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

nlohmann::json to_json(const AgentReport& report);
Result<AgentReport> agent_report_from_json(const nlohmann::json& json);

}  // namespace sailor
