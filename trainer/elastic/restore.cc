#include "trainer/elastic/restore.h"

#include <limits>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "trainer/checkpoint/assemble.h"
#include "trainer/checkpoint/images.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/log.h"
#include "trainer/step/cannot_train.h"
#include "trainer/weights/initial_weights.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kChoice{30'000};  // rank 0 only lists folders meanwhile

void start_from_files(const Assignment& assignment, const Roster& roster, int rank, HeldState& held) {
  const auto files = ModelFiles::open(assignment.training.initial_weights, assignment.model);
  if (!files) throw CannotTrain(files.error().message);
  for (const int id : roster.pieces_of(rank)) {
    auto state = imported_state(**files, assignment.model, roster.held_part(rank, id));
    if (!state) throw CannotTrain(state.error().message);
    held.arrived[id] = *std::move(state);
  }
}

void start_anew(const Assignment& assignment, const Roster& roster, int rank, HeldState& held) {
  held = {};
  if (!assignment.training.initial_weights.empty()) return start_from_files(assignment, roster, rank, held);
  for (const int id : roster.pieces_of(rank)) {
    held.arrived[id] = initial_state(assignment.model, roster.held_part(rank, id), assignment.training.seed);
  }
}

// The newest complete checkpoint older than `before`; 0 if there is none.
std::int64_t newest_before(const std::filesystem::path& folder, std::int64_t before) {
  for (const std::int64_t step : complete_checkpoints(folder)) {
    if (step < before) return step;
  }
  return 0;
}

Result<HeldState> loaded(const Assignment& assignment, const Roster& roster, int rank, std::int64_t step) {
  const auto folder = step_folder(checkpoint_folder(assignment), step);
  const auto manifest = read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  if (manifest->model != assignment.model) {  // to go on without it would silently begin anew
    throw CannotTrain(
        fmt::format("checkpoint {} is of another model ({}), this job's is {}; set checkpoint.path to a folder of its "
                    "own, or delete the files",
                    folder.string(), manifest->model.name, assignment.model.name));
  }
  HeldState held;
  held.step = step;
  held.first_loss = manifest->first_loss;
  for (const int id : roster.pieces_of(rank)) {
    const Piece part = roster.held_part(rank, id);
    const auto image = assemble(folder, *manifest, part);
    if (!image) return tl::unexpected(image.error());
    held.arrived[id] = state_of(part, *image);
  }
  return held;
}

// Rank 0's choice, told to all.
std::int64_t agreed_step(const Assignment& assignment, int rank, std::int64_t before, Rendezvous& rendezvous) {
  const std::string key = fmt::format("checkpoint-before/{}", before);
  if (rank == 0) rendezvous.set(key, std::to_string(newest_before(checkpoint_folder(assignment), before)));
  const auto choice = rendezvous.wait(key, kChoice);
  if (!choice) throw PeerLost("worker 0 did not say which checkpoint to load");
  return std::stoll(*choice);
}

}  // namespace

void restore(const Assignment& assignment, const Roster& roster, int rank, Group& everyone, Rendezvous& rendezvous,
             HeldState& held) {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  while (true) {
    const std::int64_t step = agreed_step(assignment, rank, before, rendezvous);
    if (step == 0) return start_anew(assignment, roster, rank, held);
    auto state = loaded(assignment, roster, rank, step);
    if (!state) log_warning("checkpoint refused", {{"step", std::to_string(step)}, {"why", state.error().message}});
    const at::Tensor failures = at::full({1}, state ? 0.0 : 1.0);
    everyone.sum(failures);
    if (failures.item<double>() == 0) {
      held = *std::move(state);
      return;
    }
    before = step;
  }
}

}  // namespace sailor::trainer
