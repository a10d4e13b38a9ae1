// GenerationCheckpoints: the checkpoints of one generation, as one of its workers makes them. When one starts and when
// it is complete follows from the votes, so all workers decide the same. The files are written by CheckpointWriter.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "trainer/checkpoint/writer.h"
#include "trainer/elastic/protocol/command.h"
#include "trainer/elastic/regroup/regroup.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer {

// A checkpoint whose generation ended before it was complete. Its workers still write their files.
struct UnfinishedCheckpoint {
  std::filesystem::path folder;
  Manifest manifest;
  std::int64_t generation = 0;
  std::vector<WorkerName> workers;  // of that generation, by rank
  std::chrono::steady_clock::time_point began;
};

// What a worker keeps of its checkpoints from one generation to the next.
struct WorkerCheckpoints {
  CheckpointWriter writer;
  std::optional<UnfinishedCheckpoint> unfinished;
};

class GenerationCheckpoints {
 public:
  // All arguments must outlive the object. `roster` is that of the assignment.
  GenerationCheckpoints(const Assignment& assignment, const Membership& membership, const Roster& roster,
                        const HeldState& held, WorkerCheckpoints& kept);
  ~GenerationCheckpoints();  // keeps the checkpoint in progress
  GenerationCheckpoints(const GenerationCheckpoints&) = delete;
  GenerationCheckpoints& operator=(const GenerationCheckpoints&) = delete;

  // Adds this worker's contribution to its vote.
  void add_to(Vote& mine) const;
  // Call it after the update of each step, with the sum of the votes.
  void advance(const Vote& vote);
  // Writes and completes a checkpoint of the last step, if there is none. Call it after the last step of the job. If
  // that fails, CheckpointWriter::last_error() says why. Then the function calls `on_failure` and tries again, until it
  // has taken Timeouts::last_checkpoint.
  void finish_last(const std::function<void()>& on_failure);

  // Returns false if the newest step needs a checkpoint that is not complete.
  [[nodiscard]] bool has_last() const;
  [[nodiscard]] std::int64_t last_complete() const { return std::max(known_, kept_.writer.last_complete()); }

 private:
  [[nodiscard]] std::chrono::steady_clock::time_point time_of_last() const;
  [[nodiscard]] bool is_too_old() const;
  // The age of the newest checkpoint at which the next one starts. Nothing: checkpoints start by steps only.
  [[nodiscard]] std::optional<std::chrono::duration<double>> most_age() const;
  [[nodiscard]] bool continues_unfinished() const;
  void complete_unfinished();
  void begin();
  [[nodiscard]] Manifest manifest() const;  // of the checkpoint in progress
  void complete();
  void warn_of_skipped() const;
  void finish();
  [[nodiscard]] bool agree_to_try_again(std::chrono::steady_clock::time_point until) const;
  [[nodiscard]] bool is_first() const { return membership_.rank() == 0; }
  [[nodiscard]] double shard_total() const { return static_cast<double>(shard_files_.size()); }

  const Assignment& assignment_;
  const Membership& membership_;
  const Roster& roster_;
  const HeldState& held_;
  WorkerCheckpoints& kept_;
  std::filesystem::path folder_;                // empty: the job has no checkpoints
  std::vector<ShardFileName> shard_files_;      // the files that all workers together write for each checkpoint
  std::int64_t in_progress_ = 0;                // its step; 0: none
  double loss_in_progress_ = 0;                 // the loss of this step
  bool is_being_written_ = false;               // by some worker, also one of an older generation
  bool completes_unfinished_ = false;           // this worker completes kept_.unfinished
  std::int64_t known_ = 0;                      // the newest complete one when the generation started
  std::chrono::steady_clock::time_point last_;  // checkpoint.everySeconds counts from here
};

}  // namespace sailor::trainer
