// Batches: the tokens of a step's microbatches.
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

class Batches {
 public:
  static Result<std::unique_ptr<Batches>> open(const DataSpec& data, const TrainingSpec& training, int vocab_size);

  // `step` counts from 0. A token that the vocabulary lacks is an error of the data.
  [[nodiscard]] Result<Microbatch> microbatch(std::int64_t step, int index, int size) const;

 private:
  Batches(std::unique_ptr<TokenSource> source, const DataSpec& data, const TrainingSpec& training, int vocab_size);

  std::unique_ptr<TokenSource> source_;
  std::string path_;
  SampleOrder order_;
  int sequence_length_;
  int vocab_size_;
};

}  // namespace sailor::trainer
