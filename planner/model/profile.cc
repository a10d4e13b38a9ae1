#include "planner/model/profile.h"

#include <algorithm>
#include <tuple>

namespace sailor {
namespace {

auto identity(const ModelProfile& profile) {
  return std::tie(profile.model, profile.accelerator, profile.precision, profile.sequence_length);
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
  const auto found = std::ranges::find_if(profiles_, [&](const ModelProfile& profile) {
    return profile.model == job.model.name && profile.accelerator == accelerator &&
           profile.precision == job.training.precision && profile.sequence_length == job.training.sequence_length;
  });
  return found == profiles_.end() ? nullptr : &*found;
}

}  // namespace sailor
