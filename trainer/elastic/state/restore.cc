#include "trainer/elastic/state/restore.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/log/log.h"
#include "core/model/job_json.h"
#include "trainer/checkpoint/assemble.h"
#include "trainer/checkpoint/shard_tensors.h"
#include "trainer/comm/communication_error.h"
#include "trainer/step/cannot_train.h"
#include "trainer/weights/initial_weights.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoneLeft = "none";             // not the path of a folder, which begins with /
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

// Returns the folders of the checkpoints that the job can go on with, the best first: its own, then those of the job
// that it resumes from.
std::vector<fs::path> usable_checkpoints(const Assignment& assignment) {
  const fs::path own = checkpoint_folder(assignment);
  std::vector<fs::path> folders;
  for (const std::int64_t step : complete_checkpoints(own)) folders.push_back(step_folder(own, step));
  const auto& source = assignment.checkpoint.resume_from;
  if (!source) return folders;
  const JobKey job{assignment.job.namespace_name, source->job};
  for (const auto& run : checkpoints_of_runs(assignment.checkpoint.path, job, assignment.job_uid)) {
    for (const fs::path& folder : run) {
      if (!source->step || folder == step_folder(folder.parent_path(), *source->step)) folders.push_back(folder);
    }
    if (!source->step) break;  // the newest checkpoint of the last run; a step may be one of an earlier run
  }
  return folders;
}

[[noreturn]] void fail_to_resume(const Assignment& assignment) {
  const ResumeFrom& source = assignment.checkpoint.resume_from.value();
  const std::string step = source.step ? fmt::format(" of step {}", *source.step) : "";
  const fs::path folder = runs_folder(assignment.checkpoint.path, {assignment.job.namespace_name, source.job});
  throw CannotTrain(fmt::format(
      "checkpoint.resumeFrom names job {}, but {} has no complete checkpoint{} that can be read; create the job anew "
      "with the checkpoint.path of that job, or with another job or step",
      source.job, folder.string(), step));
}

// Starting from the beginning would silently discard the training of checkpoints that may only be out of reach.
[[noreturn]] void fail_to_restore(const Assignment& assignment, std::size_t checkpoints, const std::string& why) {
  throw CannotTrain(fmt::format(
      "none of the job's {} checkpoints in {} can be read; make the volume or the files readable again, or delete the "
      "folder to begin at step 0; the reason for the last one: {}",
      checkpoints, checkpoint_folder(assignment).string(), why));
}

// The job continues from an older checkpoint than these of its own.
void set_aside_refused(const Assignment& assignment, std::span<const fs::path> refused) {
  for (const fs::path& folder : refused) {
    if (folder.parent_path() != checkpoint_folder(assignment)) continue;
    if (const auto done = set_aside(folder); !done)
      log_warning("refused checkpoint still counts as complete", {{"why", done.error().message}});
  }
}

// Names the settings in which the saved model differs, with both values.
std::string differences(const ModelSpec& saved, const ModelSpec& wanted) {
  const nlohmann::json theirs = to_json(saved)["config"];
  const nlohmann::json ours = to_json(wanted)["config"];
  nlohmann::json all = ours;
  all.update(theirs);
  std::vector<std::string> different;
  for (const auto& [key, any] : all.items()) {
    const nlohmann::json absent;
    const nlohmann::json value = theirs.value(key, absent), other = ours.value(key, absent);
    if (value != other)
      different.push_back(fmt::format("its {} is {}, but this job's is {}", key, value.dump(), other.dump()));
  }
  return fmt::format("{}", fmt::join(different, "; "));
}

void check_model(const Manifest& manifest, const Assignment& assignment, const fs::path& folder) {
  ModelSpec saved = manifest.model;
  saved.name = assignment.model.name;  // a model without a name of its own has the name of its job
  if (saved == assignment.model) return;
  throw CannotTrain(  // ignoring it would silently restart the training
      fmt::format("checkpoint {} is of another model: {}; give the job the model of the checkpoint, or begin with "
                  "another checkpoint or another checkpoint.path",
                  folder.string(), differences(saved, assignment.model)));
}

void check_steps_left(const Manifest& manifest, const Assignment& assignment, const fs::path& folder) {
  const bool is_own = folder.parent_path() == checkpoint_folder(assignment);
  if (is_own || manifest.step < assignment.training.steps) return;
  throw CannotTrain(fmt::format(
      "the job is to resume from checkpoint {}, which is at step {}, but training.steps is {}; raise training.steps",
      folder.string(), manifest.step, assignment.training.steps));
}

Result<HeldState> loaded(const Assignment& assignment, const WorkerSlices& wanted, const fs::path& folder) {
  const auto manifest = read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  check_model(*manifest, assignment, folder);
  check_steps_left(*manifest, assignment, folder);
  HeldState held;
  held.step = manifest->step;
  held.first_loss = manifest->first_loss;
  held.loss = manifest->loss;
  const auto filled = fill(assignment.model, wanted, held, [&](const StateLayout& shard) {
    return assemble(folder, *manifest, shard).map([&](const SavedShard& saved) { return state_of(shard, saved); });
  });
  if (!filled) return tl::unexpected(filled.error());
  return held;
}

// Rank 0 names the checkpoint of this attempt to all; an empty path means that none is left.
fs::path agreed_checkpoint(const std::vector<fs::path>& usable, int rank, std::size_t attempt, Rendezvous& rendezvous) {
  const std::string key = fmt::format("checkpoint/{}", attempt);
  if (rank == 0) rendezvous.set(key, attempt < usable.size() ? usable[attempt].string() : kNoneLeft);
  const auto choice = rendezvous.wait(key, kChoice);
  if (!choice) throw CommunicationError("worker 0 did not name the checkpoint to load");
  return *choice == kNoneLeft ? fs::path() : fs::path(*choice);
}

}  // namespace

void restore(const Assignment& assignment, const TransferTarget& target, Group& everyone, Rendezvous& rendezvous,
             HeldState& held) {
  const auto usable = target.rank == 0 ? usable_checkpoints(assignment) : std::vector<fs::path>{};
  std::string why = "another worker cannot read it";
  for (std::size_t attempt = 0;; ++attempt) {
    const fs::path folder = agreed_checkpoint(usable, target.rank, attempt, rendezvous);
    if (folder.empty() && assignment.checkpoint.resume_from) fail_to_resume(assignment);
    if (folder.empty() && attempt > 0) fail_to_restore(assignment, attempt, why);
    if (folder.empty()) return start_anew(assignment, target.wanted, held);
    auto state = loaded(assignment, target.wanted, folder);
    if (!state) {
      why = state.error().message;
      log_warning("checkpoint refused", {{"folder", folder.string()}, {"why", why}});
    }
    const at::Tensor failures = at::full({1}, state ? 0.0 : 1.0);
    everyone.all_reduce(failures);
    if (failures.item<double>() == 0) {
      held = *std::move(state);
      if (target.rank == 0) set_aside_refused(assignment, std::span(usable).first(attempt));
      return;
    }
  }
}

}  // namespace sailor::trainer
