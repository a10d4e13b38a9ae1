#include "trainer/elastic/state/restore.h"

#include <limits>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "core/log/log.h"
#include "trainer/checkpoint/assemble.h"
#include "trainer/checkpoint/saved_shard.h"
#include "trainer/comm/communication_error.h"
#include "trainer/step/cannot_train.h"
#include "trainer/weights/initial_weights.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kChoice{30'000};  // rank 0 only lists folders

// Fills each wanted shard with what `made` returns. Returns the first error.
template <class Make>
Result<void> fill(const ModelSpec& model, const WorkerSlices& wanted, HeldState& held, Make made) {
  for (const auto& [slices, into] :
       {std::pair(&wanted.own, &held.arrived), {&wanted.peer_replicas, &held.arrived_peer_replicas}}) {
    for (const auto& [layer_state, of_layer_state] : *slices) {
      Result<LayerState> state = made(shard_of(layout_of(model, layer_state), of_layer_state));
      if (!state) return tl::unexpected(state.error());
      (*into)[layer_state] = *std::move(state);
    }
  }
  return {};
}

void start_from_files(const Assignment& assignment, const WorkerSlices& wanted, HeldState& held) {
  const auto files = HuggingFaceModel::open(assignment.training.initial_weights, assignment.model);
  if (!files) throw CannotTrain(files.error().message);
  const auto filled = fill(assignment.model, wanted, held, [&](const StateLayout& shard) {
    return load_pretrained_state(**files, assignment.model, shard);
  });
  if (!filled) throw CannotTrain(filled.error().message);
}

void start_anew(const Assignment& assignment, const WorkerSlices& wanted, HeldState& held) {
  held = {};
  if (!assignment.training.initial_weights.empty()) return start_from_files(assignment, wanted, held);
  (void)fill(assignment.model, wanted, held, [&](const StateLayout& shard) -> Result<LayerState> {
    return initial_state(assignment.model, shard, assignment.training.seed);
  });
}

// The newest complete checkpoint older than `before`; 0 if there is none.
std::int64_t newest_before(const std::filesystem::path& folder, std::int64_t before) {
  for (const std::int64_t step : complete_checkpoints(folder)) {
    if (step < before) return step;
  }
  return 0;
}

Result<HeldState> loaded(const Assignment& assignment, const WorkerSlices& wanted, std::int64_t step) {
  const auto folder = step_folder(checkpoint_folder(assignment), step);
  const auto manifest = read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  if (manifest->model != assignment.model) {  // ignoring it would silently restart the training
    throw CannotTrain(
        fmt::format("checkpoint {} is of another model ({}), this job's is {}; set checkpoint.path to a folder of its "
                    "own, or delete the files",
                    folder.string(), manifest->model.name, assignment.model.name));
  }
  HeldState held;
  held.step = step;
  held.first_loss = manifest->first_loss;
  const auto filled = fill(assignment.model, wanted, held, [&](const StateLayout& shard) {
    return assemble(folder, *manifest, shard).map([&](const SavedShard& saved) { return state_of(shard, saved); });
  });
  if (!filled) return tl::unexpected(filled.error());
  return held;
}

// Rank 0 chooses the step and tells all.
std::int64_t agreed_step(const Assignment& assignment, int rank, std::int64_t before, Rendezvous& rendezvous) {
  const std::string key = fmt::format("checkpoint-before/{}", before);
  if (rank == 0) rendezvous.set(key, std::to_string(newest_before(checkpoint_folder(assignment), before)));
  const auto choice = rendezvous.wait(key, kChoice);
  if (!choice) throw CommunicationError("worker 0 did not name the checkpoint to load");
  return std::stoll(*choice);
}

}  // namespace

void restore(const Assignment& assignment, const TransferTarget& target, Group& everyone, Rendezvous& rendezvous,
             HeldState& held) {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  while (true) {
    const std::int64_t step = agreed_step(assignment, target.rank, before, rendezvous);
    if (step == 0) return start_anew(assignment, target.wanted, held);
    auto state = loaded(assignment, target.wanted, step);
    if (!state) log_warning("checkpoint refused", {{"step", std::to_string(step)}, {"why", state.error().message}});
    const at::Tensor failures = at::full({1}, state ? 0.0 : 1.0);
    everyone.all_reduce(failures);
    if (failures.item<double>() == 0) {
      held = *std::move(state);
      return;
    }
    before = step;
  }
}

}  // namespace sailor::trainer
