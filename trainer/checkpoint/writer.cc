#include "trainer/checkpoint/writer.h"

#include <utility>

#include "core/log/log.h"

namespace sailor::trainer {

CheckpointWriter::CheckpointWriter() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::try_folder(const std::filesystem::path& folder) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back({.run = [this, folder] {
    const Result<void> result = try_to_write(folder);
    const std::lock_guard inner(mutex_);
    if (result && is_error_of_try_) last_error_.clear();
    note(result);
    is_error_of_try_ = !result;
  }});
  changed_.notify_all();
}

void CheckpointWriter::save(const std::filesystem::path& folder, std::int64_t step, std::vector<SavedShard> shards,
                            bool deletes_incomplete) {
  const std::lock_guard lock(mutex_);
  (void)drop_unwritten_locked();
  step_ = step;
  saved_ = 0;
  unsaved_ = shards.size();
  saving_since_ = std::chrono::steady_clock::now();
  if (deletes_incomplete) tasks_.push_back({.run = [folder, step] { delete_incomplete_checkpoints(folder, step); }});
  for (SavedShard& shard : shards) {
    auto write = [this, folder, step, size = shards.size(), saved = std::move(shard)] {
      const Result<void> result = write_shard_file(step_folder(folder, step), step, saved);
      const std::lock_guard inner(mutex_);
      if (step_ == step) --unsaved_;
      if (step_ == step && result) ++saved_;
      if (step_ == step && std::cmp_equal(saved_, size)) {
        last_error_.clear();
        writing_time_ = std::chrono::steady_clock::now() - saving_since_;
      }
      note(result);
    };
    tasks_.push_back({.run = std::move(write), .writes_shard = true});
  }
  changed_.notify_all();
}

void CheckpointWriter::complete(const std::filesystem::path& folder, Manifest manifest, int keep) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back({.run = [this, folder, manifest = std::move(manifest), keep] { finish(folder, manifest, keep); }});
  changed_.notify_all();
}

void CheckpointWriter::complete_if_written(const std::filesystem::path& folder, Manifest manifest,
                                           std::int64_t generation, int keep) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_look_queued_, true)) return;
  auto look = [this, folder, manifest = std::move(manifest), generation, keep] {
    {
      const std::lock_guard inner(mutex_);
      is_look_queued_ = false;  // files that come from now on are for another look
    }
    if (last_complete() != manifest.step && all_are_written(folder, manifest, generation))
      finish(folder, manifest, keep);
  };
  tasks_.push_back({.run = std::move(look)});
  changed_.notify_all();
}

// Goes on where the look before this one ended, because a look after each step would else read all files again.
bool CheckpointWriter::all_are_written(const std::filesystem::path& folder, const Manifest& manifest,
                                       std::int64_t generation) {
  if (found_.step != manifest.step || found_.generation != generation) found_ = {manifest.step, generation, 0};
  const auto files = step_folder(folder, manifest.step);
  while (found_.files < manifest.files.size() && is_written_in(generation, files, manifest.files[found_.files]))
    ++found_.files;
  return found_.files == manifest.files.size();
}

void CheckpointWriter::finish(const std::filesystem::path& folder, const Manifest& manifest, int keep) {
  const Result<void> result = write_manifest(step_folder(folder, manifest.step), manifest);
  if (result) delete_old_checkpoints(folder, keep);
  const std::lock_guard lock(mutex_);
  if (result) last_complete_ = manifest.step;
  note(result);
}

void CheckpointWriter::drop_unwritten() {
  const std::lock_guard lock(mutex_);
  unsaved_ -= drop_unwritten_locked();
  changed_.notify_all();
}

// Does not drop the manifest of a finished checkpoint.
std::size_t CheckpointWriter::drop_unwritten_locked() {
  return std::erase_if(tasks_, [](const Task& task) { return task.writes_shard; });
}

std::optional<std::chrono::steady_clock::duration> CheckpointWriter::writing_time() const {
  const std::lock_guard lock(mutex_);
  return writing_time_;
}

bool CheckpointWriter::is_saving() const {
  const std::lock_guard lock(mutex_);
  return unsaved_ > 0;
}

int CheckpointWriter::saved_shards(std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  return step == step_ ? saved_ : 0;
}

std::int64_t CheckpointWriter::last_complete() const {
  const std::lock_guard lock(mutex_);
  return last_complete_;
}

std::string CheckpointWriter::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

bool CheckpointWriter::wait_until_idle(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return tasks_.empty() && !is_busy_; });
}

void CheckpointWriter::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !tasks_.empty(); }) && !stop.stop_requested()) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    is_busy_ = true;
    lock.unlock();
    task.run();
    task = {};  // frees the copy of the layer state
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void CheckpointWriter::note(const Result<void>& result) {
  if (result) return;
  // Each file of each later checkpoint usually fails for the same reason.
  if (last_error_.empty()) log_warning("checkpoint not written", {{"why", result.error().message}});
  last_error_ = result.error().message;
  is_error_of_try_ = false;
}

}  // namespace sailor::trainer
