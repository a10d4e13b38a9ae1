#include "trainer/elastic/regroup/checkpoint_and_release.h"

#include <algorithm>

#include "trainer/checkpoint/folders.h"
#include "trainer/checkpoint/shard_tensors.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer {
namespace {

void save(const std::filesystem::path& folder, const StateSlices& mine, int rank, const HeldState& held) {
  for (const auto& [layer_state, slices] : mine) {
    const auto written =
        write_shard_file(folder, held.step, saved_shard_of(held.layer_states.at(layer_state), slices, rank));
    if (!written) throw CannotSaveState(written.error().message);
  }
}

std::vector<ShardFileName> shard_files_of(const std::vector<StateSlices>& slices_to_save) {
  std::vector<ShardFileName> files;
  for (int rank = 0; rank < std::ssize(slices_to_save); ++rank) {
    for (const auto& [layer_state, slices] : slices_to_save[static_cast<std::size_t>(rank)])
      files.push_back({layer_state, rank});
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool checkpoint_and_release(const Assignment& assignment, GenerationRendezvous& rendezvous, const HeldState& held) {
  if (!rendezvous.point()) return rendezvous.confirm("/released");
  const auto folder = checkpoint_folder(assignment);
  if (folder.empty()) throw CannotSaveState("the job has no checkpoint.path: its state is in memory only");
  const std::int64_t step = rendezvous.point()->step;
  const bool is_there = std::ranges::count(complete_checkpoints(folder), step) > 0;
  const auto step_files = step_folder(folder, step);
  const std::vector<StateSlices> slices_to_save = rendezvous.slices_to_save();
  if (!is_there)
    save(step_files, slices_to_save.at(static_cast<std::size_t>(rendezvous.rank())), rendezvous.rank(), held);
  if (!rendezvous.confirm("/saved")) return false;
  if (!is_there && rendezvous.rank() == 0) {
    const auto complete = write_manifest(step_files, {.step = step,
                                                      .first_loss = held.first_loss,
                                                      .model = assignment.model,
                                                      .files = shard_files_of(slices_to_save),
                                                      .loss = held.loss,
                                                      .sequence_length = assignment.training.sequence_length});
    if (!complete) throw CannotSaveState(complete.error().message);
    delete_old_checkpoints(folder, assignment.checkpoint.keep);
  }
  return rendezvous.confirm("/released");
}

JobProgress saved_progress(const Assignment& assignment, std::int64_t step, const HeldState& held,
                           double step_seconds) {
  const double tokens_of_step = tokens_of_batch(assignment);
  return {.generation = assignment.generation,
          .step = step,
          .loss = held.loss,
          .first_loss = held.first_loss,
          .tokens = step * static_cast<std::int64_t>(tokens_of_step),
          .tokens_per_second = step_seconds > 0 ? tokens_of_step / step_seconds : 0,
          .step_seconds = step_seconds,
          .last_checkpoint_step = step,
          .resumed_step = step,
          .source = StateSource::kMemory};
}

}  // namespace sailor::trainer
