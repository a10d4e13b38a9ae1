// Generation: trains in one generation, in one worker. It runs the steps, votes, updates, evaluations and checkpoints,
// and it reports progress. worker.cc calls compute() and vote() for each step, and finish() after the last one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "core/protocol/agent_report.h"
#include "trainer/elastic/regroup/regroup.h"
#include "trainer/elastic/state/live_state.h"
#include "trainer/elastic/state/peer_replica_gradients.h"
#include "trainer/elastic/worker/generation_checkpoints.h"
#include "trainer/elastic/worker/step_durations.h"
#include "trainer/step/recent_passes.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer {

class Generation {
 public:
  // All arguments must outlive the generation. While it exists, other threads may read the state through `live`.
  Generation(const Assignment& assignment, Membership& membership, const Batches& batches, WorkerCheckpoints& kept,
             LiveState& live);
  ~Generation() { live_.end(); }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // One step has two halves. After compute() this worker has complete gradients. After vote() all workers have them,
  // and the update is applied. Both throw as the functions of Group do; compute() also throws CannotTrain.
  void compute();
  struct VoteIntent {
    bool leaves = false;  // asks all workers to end the generation after this step
    bool waits = false;   // asks all workers to stay until those of the next generation have their state
  };
  bool vote(const VoteIntent& intent);  // returns true if all workers leave after this step

  // Call it after the last step of the job. Returns when the last checkpoint is complete or has failed for good.
  void finish(const std::function<void()>& on_failed_checkpoint);

  [[nodiscard]] bool is_done() const { return held_.step >= assignment_.training.steps; }
  [[nodiscard]] JobProgress progress() const;
  [[nodiscard]] double mean_step_seconds() const;  // mean of the last few steps; 0: no step is done
  [[nodiscard]] std::optional<double> microbatch_seconds() const { return recent_passes_.microbatch_seconds(); }

 private:
  void allow_for_step();
  [[nodiscard]] bool is_evaluation_due() const;
  void evaluate();
  bool check_finite(const Totals& totals);
  [[nodiscard]] std::string culprit(const Totals& totals) const;
  void update(bool is_last);
  [[nodiscard]] double seconds_of_step() const;     // since the current step began
  [[nodiscard]] double usual_step_seconds() const;  // of this generation, or else of the one before; 0: unknown
  void leave_together();
  void note_step();
  void log_times();
  [[nodiscard]] bool is_first() const { return membership_.rank() == 0; }

  const Assignment& assignment_;
  Membership& membership_;
  LiveState& live_;
  HeldState& held_;
  Roster roster_;
  StageModel model_;
  TrainingStep step_;
  PeerReplicaGradients peer_replica_gradients_;
  GenerationCheckpoints checkpoints_;
  std::int64_t resumed_step_ = 0;
  std::int64_t steps_skipped_ = 0;
  std::optional<double> validation_loss_;        // loss of the newest evaluation
  std::chrono::steady_clock::time_point began_;  // start of the current step
  StepDurations durations_;
  RecentPasses recent_passes_;
};

}  // namespace sailor::trainer
