// Generation: one generation's training in one worker: steps, votes, checkpoints, progress.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "core/protocol/agent_report.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/elastic/joining/state_streaming.h"
#include "trainer/elastic/regroup/regroup.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/peer_replica_gradients.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer {

class Generation {
 public:
  // All of them outlive the generation.
  Generation(const Assignment& assignment, Membership& membership, const Batches& batches, CheckpointWriter& writer,
             HeldState& held);

  // One step in two halves; each throws PeerLost, the first CannotTrain too. Between them this worker holds complete
  // gradients, after the second all do, and the update is applied.
  void compute();
  struct Wish {
    bool leaves = false;         // at this step's end
    bool waits = false;          // but nobody before the newcomers have caught up
    Feeding* feeding = nullptr;  // of those who follow this worker's steps; null: nobody does
  };
  bool vote(const Wish& wish);  // whether all leave at this step's end

  // After the last step: returns when the last checkpoint is complete, or there is a reason why there is none.
  void finish();

  [[nodiscard]] bool is_done() const { return held_.step >= assignment_.training.steps; }
  [[nodiscard]] JobProgress progress() const;
  [[nodiscard]] double mean_step_seconds() const;  // of the last few; 0: none is done

 private:
  void allow_for_step();
  [[nodiscard]] bool is_evaluation_due() const;
  void evaluate();
  bool check_finite(const Totals& totals);
  [[nodiscard]] std::string culprit(const Totals& totals) const;
  void update(Feeding* feeding, bool is_last);
  void advance_checkpoint(const Vote& vote);
  void begin_checkpoint();
  void complete_checkpoint(std::int64_t step);
  void finish_last_checkpoint();
  void leave_together();
  void note_step();
  void log_times();
  [[nodiscard]] bool is_first() const { return membership_.rank() == 0; }
  [[nodiscard]] double shard_total() const { return static_cast<double>(images_.size()); }

  const Assignment& assignment_;
  Membership& membership_;
  CheckpointWriter& writer_;
  HeldState& held_;
  Roster roster_;
  StageModel model_;
  TrainingStep step_;
  CopiedGradients copied_gradients_;
  std::filesystem::path folder_;             // of the checkpoints; empty: none
  std::vector<ImageName> images_;            // that all workers write of each
  std::int64_t checkpoint_in_progress_ = 0;  // its step; 0: none
  std::int64_t known_checkpoint_ = 0;        // newest complete one when the generation began
  std::int64_t resumed_step_ = 0;
  std::int64_t steps_skipped_ = 0;
  std::optional<double> validation_loss_;        // of the newest evaluation
  std::chrono::steady_clock::time_point began_;  // the step at hand
  std::deque<double> durations_;                 // of the last steps, in seconds
};

}  // namespace sailor::trainer
