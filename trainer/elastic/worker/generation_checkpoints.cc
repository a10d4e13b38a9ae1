#include "trainer/elastic/worker/generation_checkpoints.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "core/log/log.h"
#include "core/model/checkpoint_interval.h"
#include "trainer/checkpoint/shard_tensors.h"

namespace sailor::trainer {
namespace {

// Peers get a message at least this often while this worker writes.
constexpr std::chrono::milliseconds kLastWriteLook{500};
constexpr std::chrono::milliseconds kBetweenTries{1000};  // of the last checkpoint

std::int64_t newest_checkpoint(const std::filesystem::path& folder) {
  const auto steps = complete_checkpoints(folder);
  return steps.empty() ? 0 : steps.front();
}

// The files that all workers together write for a checkpoint.
std::vector<ShardFileName> all_shard_files(const Roster& roster) {
  std::vector<ShardFileName> files;
  for (const int layer_state : roster.layer_states()) {
    for (const int rank : roster.holders_of(layer_state)) {
      if (!roster.saved_slices(rank, layer_state).empty()) files.push_back({layer_state, rank});
    }
  }
  return files;
}

// Returns whether this worker is the first of those that began the checkpoint and still train.
bool completes(const UnfinishedCheckpoint& unfinished, const Assignment& assignment, int rank) {
  for (const WorkerName& worker : unfinished.workers) {
    const auto found = rank_of(assignment, worker);
    if (found && *found < assignment.training_workers()) return *found == rank;
  }
  return false;
}

std::vector<WorkerName> training_workers(const Assignment& assignment) {
  std::vector<WorkerName> names;
  std::ranges::transform(assignment.workers | std::views::take(assignment.training_workers()),
                         std::back_inserter(names),
                         [&](const WorkerSlot& worker) { return name_of(assignment, worker); });
  return names;
}

}  // namespace

GenerationCheckpoints::GenerationCheckpoints(const Assignment& assignment, const Membership& membership,
                                             const Roster& roster, const HeldState& held, WorkerCheckpoints& kept)
    : assignment_(assignment),
      membership_(membership),
      roster_(roster),
      held_(held),
      kept_(kept),
      folder_(checkpoint_folder(assignment)),
      shard_files_(all_shard_files(roster)),
      known_(newest_checkpoint(folder_)) {
  if (!continues_unfinished()) kept_.unfinished.reset();
  completes_unfinished_ = kept_.unfinished && completes(*kept_.unfinished, assignment, membership.rank());
  last_ = time_of_last();
  if (!folder_.empty()) kept_.writer.try_folder(folder_);
}

GenerationCheckpoints::~GenerationCheckpoints() {
  if (in_progress_ == 0) return;
  kept_.unfinished = {.folder = folder_,
                      .manifest = manifest(),
                      .generation = assignment_.generation,
                      .workers = training_workers(assignment_),
                      .began = last_};
}

// A job that resumes from an older checkpoint will reach the step of the unfinished one again, and write other files.
bool GenerationCheckpoints::continues_unfinished() const {
  if (!kept_.unfinished || kept_.unfinished->folder != folder_) return false;
  const bool resumes_from_memory =
      membership_.source == StateSource::kMemory || membership_.source == StateSource::kPeerReplica;
  return resumes_from_memory && kept_.unfinished->manifest.step > known_;
}

void GenerationCheckpoints::add_to(Vote& mine) const {
  mine.saving = kept_.writer.is_saving() ? 1.0 : 0.0;
  mine.saved_shards = static_cast<double>(kept_.writer.saved_shards(in_progress_));
  mine.checkpoints = is_first() && is_too_old() ? 1.0 : 0.0;
}

// A checkpoint starts only when no file of an older one is still to be written: it would drop that file, and where
// writing takes longer than the interval or a generation, no checkpoint would ever be complete.
void GenerationCheckpoints::advance(const Vote& vote) {
  if (folder_.empty()) return;
  is_being_written_ = vote.saving > 0;
  if (in_progress_ > 0 && !is_being_written_) {
    if (is_first() && vote.saved_shards == shard_total()) complete();
    in_progress_ = 0;  // complete, or failed with an error that the writer reports
  }
  if (!is_being_written_) complete_unfinished();
  const auto& every = assignment_.checkpoint.every_steps;
  const bool is_due = (every && held_.step % *every == 0) || vote.checkpoints > 0;
  if (is_due && !is_being_written_)
    begin();
  else if (is_due && is_first())
    warn_of_skipped();
}

// The files of workers that have left may still be missing.
void GenerationCheckpoints::complete_unfinished() {
  if (!completes_unfinished_ || !kept_.unfinished) return;
  const UnfinishedCheckpoint& unfinished = *kept_.unfinished;
  kept_.writer.complete_if_written(unfinished.folder, unfinished.manifest, unfinished.generation,
                                   assignment_.checkpoint.keep);
  if (kept_.writer.last_complete() == unfinished.manifest.step) kept_.unfinished.reset();
}

void GenerationCheckpoints::warn_of_skipped() const {
  const std::string which = in_progress_ > 0 ? fmt::format("of step {}", in_progress_) : "of an older generation";
  log_warning("checkpoint skipped", {{"step", std::to_string(held_.step)},
                                     {"why", fmt::format("the checkpoint {} is still being written", which)}});
}

// A job without a checkpoint gets its first one as long after the start of this process as later ones after each other.
std::chrono::steady_clock::time_point GenerationCheckpoints::time_of_last() const {
  if (kept_.unfinished) return kept_.unfinished->began;
  if (folder_.empty() || known_ == 0) return kept_.writer.created();
  return std::chrono::steady_clock::now() - age_of_checkpoint(step_folder(folder_, known_));
}

bool GenerationCheckpoints::is_too_old() const {
  if (folder_.empty() || is_being_written_ || in_progress_ > 0) return false;
  const auto limit = most_age();
  return limit && std::chrono::steady_clock::now() - last_ >= *limit;
}

std::optional<std::chrono::duration<double>> GenerationCheckpoints::most_age() const {
  const CheckpointSpec& spec = assignment_.checkpoint;
  if (spec.every_seconds) return std::chrono::seconds(*spec.every_seconds);
  if (!spec.is_automatic()) return std::nullopt;
  const auto measured = kept_.writer.writing_time();
  const Seconds writing =
      measured ? Seconds(std::chrono::duration<double>(*measured).count()) : kAssumedCheckpointWriting;
  return std::chrono::duration<double>(automatic_checkpoint_interval(writing, assignment_.failures_per_hour).value());
}

void GenerationCheckpoints::begin() {
  kept_.unfinished.reset();  // complete, or a worker has left without writing its files
  in_progress_ = held_.step;
  loss_in_progress_ = held_.loss;
  last_ = std::chrono::steady_clock::now();
  std::vector<SavedShard> shards;
  for (const auto& [id, state] : held_.layer_states) {
    const std::vector<Slice> saved = roster_.saved_slices(membership_.rank(), id);
    if (saved.empty()) continue;
    shards.push_back(saved_shard_of(state, saved, membership_.rank()));
    shards.back().generation = assignment_.generation;
  }
  kept_.writer.save(folder_, held_.step, std::move(shards), is_first());
}

Manifest GenerationCheckpoints::manifest() const {
  return {.step = in_progress_,
          .first_loss = held_.first_loss,
          .model = assignment_.model,
          .files = shard_files_,
          .loss = loss_in_progress_,
          .sequence_length = assignment_.training.sequence_length};
}

// Call it when all workers have written their files.
void GenerationCheckpoints::complete() { kept_.writer.complete(folder_, manifest(), assignment_.checkpoint.keep); }

bool GenerationCheckpoints::has_last() const { return folder_.empty() || newest_checkpoint(folder_) == held_.step; }

void GenerationCheckpoints::finish_last(const std::function<void()>& on_failure) {
  if (has_last()) return;
  const auto until = std::chrono::steady_clock::now() + membership_.timeouts.last_checkpoint;
  if (in_progress_ > 0 && in_progress_ != held_.step) finish();
  if (in_progress_ != held_.step) begin();
  finish();
  while (agree_to_try_again(until)) {
    on_failure();
    std::this_thread::sleep_for(kBetweenTries);
    begin();
    finish();
  }
}

// The first worker decides for all, because it alone completes the checkpoint.
bool GenerationCheckpoints::agree_to_try_again(std::chrono::steady_clock::time_point until) const {
  const bool is_missing = is_first() && kept_.writer.last_complete() != held_.step;
  const bool tries = is_missing && std::chrono::steady_clock::now() < until;
  const at::Tensor sum = at::full({1}, tries ? 1.0 : 0.0);
  membership_.groups->control().all_reduce(sum);
  return sum.item<double>() > 0;
}

// Waits until all workers have written the files of the checkpoint in progress, and the checkpoint is complete.
void GenerationCheckpoints::finish() {
  bool is_decided = false;
  while (!is_decided) {
    const bool is_idle = kept_.writer.wait_until_idle(kLastWriteLook);
    const int saved = kept_.writer.saved_shards(in_progress_);
    const at::Tensor sums = at::tensor({static_cast<double>(saved), is_idle ? 0.0 : 1.0}, at::kDouble);
    membership_.groups->control().all_reduce(sums);
    is_decided = sums[1].item<double>() == 0;
    if (is_decided && is_first() && sums[0].item<double>() == shard_total()) complete();
  }
  while (!kept_.writer.wait_until_idle(kLastWriteLook)) {
  }
  in_progress_ = 0;
}

}  // namespace sailor::trainer
