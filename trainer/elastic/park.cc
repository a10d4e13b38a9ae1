#include "trainer/elastic/park.h"

#include <algorithm>

#include "trainer/checkpoint/files.h"
#include "trainer/checkpoint/images.h"

namespace sailor::trainer {
namespace {

void save(const std::filesystem::path& folder, const std::vector<int>& writers, int rank, const HeldState& held) {
  for (const auto& [piece, state] : held.pieces) {
    if (writers.at(static_cast<std::size_t>(piece)) != rank) continue;
    const auto written = write_image(folder, held.step, image_of(state, ranges_of(state.part), rank));
    if (!written) throw CannotPark(written.error().message);
  }
}

}  // namespace

bool park(const Assignment& assignment, Meeting& meeting, const HeldState& held) {
  if (!meeting.point()) return meeting.confirm("/parked");
  const auto folder = checkpoint_folder(assignment);
  if (folder.empty()) throw CannotPark("the job has no checkpoint.path: its state is in memory only");
  const std::int64_t step = meeting.point()->step;
  const bool is_there = std::ranges::count(complete_checkpoints(folder), step) > 0;
  const auto step_files = step_folder(folder, step);
  if (!is_there && meeting.offers_state()) save(step_files, meeting.writers(), meeting.rank(), held);
  if (!meeting.confirm("/saved")) return false;
  if (!is_there && meeting.rank() == 0) {
    std::vector<ImageName> images;
    for (const int piece : meeting.roster().pieces()) {
      images.push_back({piece, meeting.writers().at(static_cast<std::size_t>(piece))});
    }
    const auto complete = write_manifest(step_files, {step, held.first_loss, assignment.model, std::move(images)});
    if (!complete) throw CannotPark(complete.error().message);
    delete_old_checkpoints(folder, assignment.checkpoint.keep);
  }
  return meeting.confirm("/parked");
}

}  // namespace sailor::trainer
