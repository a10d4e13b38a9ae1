// Generation: trains in one generation, in one worker. It runs the steps, votes, updates, evaluations and checkpoints,
// and it reports progress. worker.cc calls compute() and vote() for each step, and finish() after the last one.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "core/protocol/agent_report.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/elastic/regroup/regroup.h"
#include "trainer/elastic/state/live_state.h"
#include "trainer/elastic/state/peer_replica_gradients.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer {

class Generation {
 public:
  // All arguments must outlive the generation. While it exists, other threads may read the state through `live`.
  Generation(const Assignment& assignment, Membership& membership, const Batches& batches, CheckpointWriter& writer,
             LiveState& live);
  ~Generation() { live_.end(); }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // One step has two halves. After compute() this worker has complete gradients. After vote() all workers have them,
  // and the update is applied. Both throw CommunicationError; compute() also throws CannotTrain.
  void compute();
  struct VoteIntent {
    bool leaves = false;  // asks all workers to end the generation after this step
    bool waits = false;   // asks all workers to stay until those of the next generation have their state
  };
  bool vote(const VoteIntent& intent);  // returns true if all workers leave after this step

  // Call it after the last step of the job. Returns when the last checkpoint is complete or has failed.
  void finish();

  [[nodiscard]] bool is_done() const { return held_.step >= assignment_.training.steps; }
  [[nodiscard]] JobProgress progress() const;
  [[nodiscard]] double mean_step_seconds() const;  // mean of the last few steps; 0: no step is done

 private:
  void allow_for_step();
  [[nodiscard]] bool is_evaluation_due() const;
  void evaluate();
  bool check_finite(const Totals& totals);
  [[nodiscard]] std::string culprit(const Totals& totals) const;
  void update(bool is_last);
  [[nodiscard]] double seconds_of_step() const;     // since the current step began
  [[nodiscard]] double usual_step_seconds() const;  // of this generation, or else of the one before; 0: unknown
  void advance_checkpoint(const Vote& vote);
  [[nodiscard]] std::chrono::steady_clock::time_point time_of_last_checkpoint() const;
  [[nodiscard]] bool is_checkpoint_too_old() const;
  // The age of the newest checkpoint at which the next one starts. Nothing: checkpoints start by steps only.
  [[nodiscard]] std::optional<std::chrono::duration<double>> most_checkpoint_age() const;
  void begin_checkpoint();
  void complete_checkpoint(std::int64_t step);
  void finish_last_checkpoint();
  void finish_checkpoint();
  void leave_together();
  void note_step();
  void log_times();
  [[nodiscard]] bool is_first() const { return membership_.rank() == 0; }
  [[nodiscard]] double shard_total() const { return static_cast<double>(shard_files_.size()); }

  const Assignment& assignment_;
  Membership& membership_;
  CheckpointWriter& writer_;
  LiveState& live_;
  HeldState& held_;
  Roster roster_;
  StageModel model_;
  TrainingStep step_;
  PeerReplicaGradients peer_replica_gradients_;
  std::filesystem::path folder_;             // folder of the checkpoints; empty: none
  std::vector<ShardFileName> shard_files_;   // the files that all workers together write for each checkpoint
  std::int64_t checkpoint_in_progress_ = 0;  // its step; 0: none
  std::int64_t known_checkpoint_ = 0;        // the newest complete one when the generation started
  std::chrono::steady_clock::time_point last_checkpoint_;  // checkpoint.everySeconds counts from here
  std::int64_t resumed_step_ = 0;
  std::int64_t steps_skipped_ = 0;
  std::optional<double> validation_loss_;        // loss of the newest evaluation
  std::chrono::steady_clock::time_point began_;  // start of the current step
  std::deque<double> durations_;                 // durations of the last steps, in seconds
};

}  // namespace sailor::trainer
