// Batches: the tokens of a step's microbatches, and of the batches that validate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/sample_order.h"
#include "trainer/data/token_source.h"

namespace sailor::trainer {

struct Microbatch {  // both of microbatch_size times sequence_length tokens, sequence by sequence
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> targets;  // the tokens that follow
};

// The corpus is cut into windows of a sequence's length; validation has files of its own, or the last windows.
class Batches {
 public:
  static Result<std::unique_ptr<Batches>> open(const DataSpec& data, const TrainingSpec& training, int vocab_size);

  // `step` counts from 0. A token that the vocabulary lacks is an error of the data.
  [[nodiscard]] Result<Microbatch> microbatch(std::int64_t step, int index, int size) const;

  // Of the batch with this number of the validation data, which are read in their own order: all evaluations see
  // the same sequences. Where there are fewer than asked for, they are read again from the first on.
  [[nodiscard]] bool has_validation() const { return parts_.validation_windows > 0; }
  [[nodiscard]] Result<Microbatch> validation_microbatch(int batch, int index, int size) const;

 private:
  struct Parts {
    std::shared_ptr<const TokenSource> training;
    std::int64_t training_windows = 0;  // the source's first
    std::shared_ptr<const TokenSource> validation;
    std::int64_t first_validation_window = 0;
    std::int64_t validation_windows = 0;  // 0: there is no validation
  };
  static Result<Parts> split(const DataSpec& data, const TrainingSpec& training);
  static Result<void> hold_back(const DataSpec& data, const TrainingSpec& training, Parts& parts);

  Batches(Parts parts, const TrainingSpec& training, int vocab_size);
  [[nodiscard]] Result<void> append(const TokenSource& source, std::int64_t window, Microbatch& batch) const;

  Parts parts_;
  SampleOrder order_;
  int global_batch_size_;
  int sequence_length_;
  int vocab_size_;
};

}  // namespace sailor::trainer
