#include "trainer/data/batches.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sailor::trainer {
namespace {

// A window needs one token more than its length: the last target.
std::int64_t windows_of(const TokenSource& source, int sequence_length) {
  return (source.size() - 1) / sequence_length;
}

}  // namespace

Result<std::unique_ptr<Batches>> Batches::open(const DataSpec& data, const TrainingSpec& training, int vocab_size) {
  auto parts = split(data, training);
  if (!parts) return tl::unexpected(parts.error());
  return std::unique_ptr<Batches>(new Batches(*std::move(parts), training, vocab_size));
}

Result<Batches::Parts> Batches::split(const DataSpec& data, const TrainingSpec& training) {
  auto source = open_tokens(data, training.sequence_length);
  if (!source) return tl::unexpected(source.error());
  Parts parts;
  parts.training = *std::move(source);
  parts.training_windows = windows_of(*parts.training, training.sequence_length);
  if (!data.validation) return parts;
  if (data.validation->fraction) {
    if (auto held = hold_back(data, training, parts); !held) return tl::unexpected(held.error());
    return parts;
  }
  auto validation = open_tokens({.format = data.format, .path = data.validation->path}, training.sequence_length);
  if (!validation) return tl::unexpected(validation.error());
  parts.validation = *std::move(validation);
  parts.validation_windows = windows_of(*parts.validation, training.sequence_length);
  return parts;
}

Result<void> Batches::hold_back(const DataSpec& data, const TrainingSpec& training, Parts& parts) {
  const std::int64_t all = parts.training_windows;
  const auto held = static_cast<std::int64_t>(std::ceil(static_cast<double>(all) * *data.validation->fraction));
  if (held >= all) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("opening training data {}: {} sequences of {} tokens leave none to train on where a part "
                            "of {} is held back; add data or lower data.validation.fraction",
                            data.path, all, training.sequence_length, *data.validation->fraction));
  }
  parts.validation = parts.training;
  parts.training_windows = all - held;
  parts.first_validation_window = all - held;
  parts.validation_windows = held;
  return {};
}

Batches::Batches(Parts parts, const TrainingSpec& training, int vocab_size)
    : parts_(std::move(parts)),
      order_(training.seed, parts_.training_windows, training.global_batch_size),
      global_batch_size_(training.global_batch_size),
      sequence_length_(training.sequence_length),
      vocab_size_(vocab_size) {}

Result<Microbatch> Batches::microbatch(std::int64_t step, int index, int size) const {
  Microbatch batch;
  for (int sample = index * size; sample < (index + 1) * size; ++sample) {
    if (auto read = append(*parts_.training, order_.window(step, sample), batch); !read) {
      return tl::unexpected(read.error());
    }
  }
  return batch;
}

Result<Microbatch> Batches::validation_microbatch(int batch, int index, int size) const {
  Microbatch read;
  for (int sample = index * size; sample < (index + 1) * size; ++sample) {
    const std::int64_t number = std::int64_t{batch} * global_batch_size_ + sample;
    const std::int64_t window = parts_.first_validation_window + number % parts_.validation_windows;
    if (auto appended = append(*parts_.validation, window, read); !appended) return tl::unexpected(appended.error());
  }
  return read;
}

Result<void> Batches::append(const TokenSource& source, std::int64_t window, Microbatch& batch) const {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(sequence_length_) + 1);
  const std::int64_t first = window * sequence_length_;
  source.read(first, tokens);
  const auto is_unknown = [&](std::int64_t token) { return token < 0 || token >= vocab_size_; };
  if (const auto found = std::ranges::find_if(tokens, is_unknown); found != tokens.end()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("reading training data {}: token {} is outside the model's vocabulary of {}; use the "
                            "model of the data's own tokenizer, or a larger vocabSize",
                            source.place_of(first + (found - tokens.begin())), *found, vocab_size_));
  }
  batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end() - 1);
  batch.targets.insert(batch.targets.end(), tokens.begin() + 1, tokens.end());
  return {};
}

}  // namespace sailor::trainer
