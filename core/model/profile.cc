#include "core/model/profile.h"

#include <algorithm>
#include <tuple>

namespace sailor {
namespace {

auto identity(const ModelProfile& profile) {
  return std::tie(profile.model, profile.accelerator, profile.precision, profile.sequence_length,
                  profile.sequence_parallelism);
}

}  // namespace

void ProfileBook::add(ModelProfile profile) {
  const auto same =
      std::ranges::find_if(profiles_, [&](const ModelProfile& known) { return identity(known) == identity(profile); });
  if (same != profiles_.end()) {
    *same = std::move(profile);
  } else {
    profiles_.push_back(std::move(profile));
  }
}

const ModelProfile* ProfileBook::find(const JobSpec& job, const Accelerator& accelerator) const {
  const auto measured = [&](SequenceParallelism how) -> const ModelProfile* {
    const auto found = std::ranges::find_if(profiles_, [&](const ModelProfile& profile) {
      return identity(profile) ==
             std::tie(job.model.name, accelerator, job.training.precision, job.training.sequence_length, how);
    });
    return found == profiles_.end() ? nullptr : &*found;
  };
  const ModelProfile* same = measured(job.training.sequence_parallelism);
  return same != nullptr ? same : measured(SequenceParallelism::kNever);
}

}  // namespace sailor
