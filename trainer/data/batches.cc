#include "trainer/data/batches.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor::trainer {

Result<std::unique_ptr<Batches>> Batches::open(const DataSpec& data, const TrainingSpec& training, int vocab_size) {
  auto source = open_tokens(data, training.sequence_length);
  if (!source) return tl::unexpected(source.error());
  return std::unique_ptr<Batches>(new Batches(*std::move(source), data, training, vocab_size));
}

Batches::Batches(std::unique_ptr<TokenSource> source, const DataSpec& data, const TrainingSpec& training,
                 int vocab_size)
    : source_(std::move(source)),
      path_(data.path),
      // A window needs one token more than its length: the last target.
      order_(training.seed, (source_->size() - 1) / training.sequence_length, training.global_batch_size),
      sequence_length_(training.sequence_length),
      vocab_size_(vocab_size) {}

Result<Microbatch> Batches::microbatch(std::int64_t step, int index, int size) const {
  Microbatch batch;
  std::vector<std::int64_t> window(static_cast<std::size_t>(sequence_length_) + 1);
  for (int sample = index * size; sample < (index + 1) * size; ++sample) {
    const std::int64_t first = order_.window(step, sample) * sequence_length_;
    source_->read(first, window);
    if (const auto largest = *std::ranges::max_element(window); largest >= vocab_size_) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("reading training data {}: token {} near token number {} is outside the model's vocabulary "
                      "of {}; use the data's own tokenizer's model, or a larger vocabSize",
                      path_, largest, first, vocab_size_));
    }
    batch.tokens.insert(batch.tokens.end(), window.begin(), window.end() - 1);
    batch.targets.insert(batch.targets.end(), window.begin() + 1, window.end());
  }
  return batch;
}

}  // namespace sailor::trainer
