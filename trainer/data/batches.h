// Batches: the token ids and targets of each microbatch, for training and for validation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/corpus.h"
#include "trainer/data/sample_order.h"

namespace sailor::trainer {

// Both vectors have microbatch_size * sequence_length elements, sequence after sequence.
struct Microbatch {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> targets;  // the token that follows each of `tokens`
};

// The corpus is divided into windows of one sequence each. The validation data are either separate files or the last
// windows of the training data.
class Batches {
 public:
  static Result<std::unique_ptr<Batches>> open(const DataSpec& data, const TrainingSpec& training, int vocab_size);

  // Returns microbatch `index` of the global batch of the step, with `size` sequences. `index` counts from 0 over the
  // whole batch, not per replica. `step` counts from 0. Fails if a token is outside the vocabulary.
  [[nodiscard]] Result<Microbatch> microbatch(std::int64_t step, int index, int size) const;

  // The same for validation batch `batch`, which has as many sequences as a global batch. Validation batches have the
  // order of the data, so all evaluations see the same sequences. If there are too few sequences, they repeat from the
  // first one.
  [[nodiscard]] Result<Microbatch> validation_microbatch(int batch, int index, int size) const;

 private:
  struct Split {
    std::shared_ptr<const Corpus> training;
    std::int64_t training_windows = 0;  // the first windows of `training`
    std::shared_ptr<const Corpus> validation;
    std::int64_t first_validation_window = 0;
    std::int64_t validation_windows = 0;  // 0 without validation
  };
  static Result<Split> split_corpus(const DataSpec& data, const TrainingSpec& training);
  static Result<void> hold_back(const DataSpec& data, const TrainingSpec& training, Split& split);

  Batches(Split split, const TrainingSpec& training, int vocab_size);
  [[nodiscard]] Result<void> append(const Corpus& corpus, std::int64_t window, Microbatch& batch) const;

  Split split_;
  SampleOrder order_;
  int global_batch_size_;
  int sequence_length_;
  int vocab_size_;
};

}  // namespace sailor::trainer
