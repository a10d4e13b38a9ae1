// Generation: one generation's training in one worker: steps, votes, checkpoints, progress.
#pragma once

#include <chrono>
#include <deque>

#include "planner/model/agent_report.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/elastic/held_state.h"
#include "trainer/elastic/inbox.h"
#include "trainer/elastic/regroup.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer {

enum class GenerationEnd { kNewerGeneration, kAllStepsDone };

class Generation {
 public:
  // All of them outlive the generation.
  Generation(const Assignment& assignment, Membership& membership, const Batches& batches, const Inbox& inbox,
             CheckpointWriter& writer, HeldState& held);

  // Trains until a vote finds that somebody knows a newer generation, or all steps are done. `on_step` is called after
  // every applied step. Throws PeerLost, CannotTrain.
  template <class OnStep>
  GenerationEnd train(OnStep on_step) {
    while (held_.step < assignment_.training.steps) {
      const bool somebody_knows_newer = one_step();
      on_step();
      if (somebody_knows_newer) return GenerationEnd::kNewerGeneration;
    }
    finish_last_checkpoint();
    leave_together();
    return GenerationEnd::kAllStepsDone;
  }

  [[nodiscard]] JobProgress progress() const;

 private:
  bool one_step();
  void check_finite(const Vote& vote) const;
  void advance_checkpoint(const Vote& vote);
  void begin_checkpoint();
  void finish_last_checkpoint();
  void leave_together();
  void note_duration(std::chrono::steady_clock::duration duration);
  [[nodiscard]] bool is_first() const { return membership_.rank == 0; }
  [[nodiscard]] double piece_total() const { return static_cast<double>(roster_.pieces().size()); }

  const Assignment& assignment_;
  Membership& membership_;
  const Inbox& inbox_;
  CheckpointWriter& writer_;
  HeldState& held_;
  Roster roster_;
  StageModel model_;
  TrainingStep step_;
  std::filesystem::path folder_;             // of the checkpoints; empty: none
  std::int64_t checkpoint_in_progress_ = 0;  // its step; 0: none
  std::int64_t known_checkpoint_ = 0;        // newest complete one when the generation began
  std::int64_t resumed_step_ = 0;
  double loss_ = 0;
  std::deque<double> durations_;  // of the last steps, in seconds
};

}  // namespace sailor::trainer
