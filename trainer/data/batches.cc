#include "trainer/data/batches.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sailor::trainer {
namespace {

// A window needs one token more than its length: the target of its last token.
std::int64_t windows_of(const Corpus& corpus, int sequence_length) { return (corpus.size() - 1) / sequence_length; }

}  // namespace

Result<std::unique_ptr<Batches>> Batches::open(const DataSpec& data, const TrainingSpec& training, int vocab_size) {
  auto split = split_corpus(data, training);
  if (!split) return tl::unexpected(split.error());
  return std::unique_ptr<Batches>(new Batches(*std::move(split), training, vocab_size));
}

Result<Batches::Split> Batches::split_corpus(const DataSpec& data, const TrainingSpec& training) {
  auto corpus = Corpus::open(data, training.sequence_length);
  if (!corpus) return tl::unexpected(corpus.error());
  Split split;
  split.training = *std::move(corpus);
  split.training_windows = windows_of(*split.training, training.sequence_length);
  if (!data.validation) return split;
  if (data.validation->fraction) {
    if (auto held = hold_back(data, training, split); !held) return tl::unexpected(held.error());
    return split;
  }
  auto validation = Corpus::open({.format = data.format, .path = data.validation->path}, training.sequence_length);
  if (!validation) return tl::unexpected(validation.error());
  split.validation = *std::move(validation);
  split.validation_windows = windows_of(*split.validation, training.sequence_length);
  return split;
}

Result<void> Batches::hold_back(const DataSpec& data, const TrainingSpec& training, Split& split) {
  const std::int64_t all = split.training_windows;
  const double fraction = data.validation.value().fraction.value();
  const auto held = static_cast<std::int64_t>(std::ceil(static_cast<double>(all) * fraction));
  if (held >= all) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("opening training data {}: {} sequences of {} tokens leave none to train on if a fraction "
                            "of {} is held back for validation; add data or lower data.validation.fraction",
                            data.path, all, training.sequence_length, fraction));
  }
  split.validation = split.training;
  split.training_windows = all - held;
  split.first_validation_window = all - held;
  split.validation_windows = held;
  return {};
}

Batches::Batches(Split split, const TrainingSpec& training, int vocab_size)
    : split_(std::move(split)),
      order_(training.seed, split_.training_windows, training.global_batch_size),
      global_batch_size_(training.global_batch_size),
      sequence_length_(training.sequence_length),
      vocab_size_(vocab_size) {}

Result<Microbatch> Batches::microbatch(std::int64_t step, int index, int size) const {
  Microbatch batch;
  for (int sample = index * size; sample < (index + 1) * size; ++sample) {
    if (auto read = append(*split_.training, order_.window(step, sample), batch); !read) {
      return tl::unexpected(read.error());
    }
  }
  return batch;
}

Result<Microbatch> Batches::validation_microbatch(int batch, int index, int size) const {
  Microbatch read;
  for (int sample = index * size; sample < (index + 1) * size; ++sample) {
    const std::int64_t number = std::int64_t{batch} * global_batch_size_ + sample;
    const std::int64_t window = split_.first_validation_window + number % split_.validation_windows;
    if (auto appended = append(*split_.validation, window, read); !appended) return tl::unexpected(appended.error());
  }
  return read;
}

Result<void> Batches::append(const Corpus& corpus, std::int64_t window, Microbatch& batch) const {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(sequence_length_) + 1);
  const std::int64_t first = window * sequence_length_;
  corpus.read(first, tokens);
  const auto is_unknown = [&](std::int64_t token) { return token < 0 || token >= vocab_size_; };
  if (const auto found = std::ranges::find_if(tokens, is_unknown); found != tokens.end()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("reading training data {}: token {} is outside the model's vocabulary of {}; use the "
                            "model that belongs to the data's tokenizer, or a larger vocabSize",
                            corpus.describe_position(first + (found - tokens.begin())), *found, vocab_size_));
  }
  batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end() - 1);
  batch.targets.insert(batch.targets.end(), tokens.begin() + 1, tokens.end());
  return {};
}

}  // namespace sailor::trainer
