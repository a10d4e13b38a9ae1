// Profiles for tests that compute a plan's figures by hand.
#pragma once

#include <vector>

#include "core/model/job_spec.h"
#include "core/model/profile.h"

namespace sailor::testing {

// Every layer takes 1 ms forward and 2 ms backward a sample, and 0.5 ms to update, for each measured point.
inline ModelProfile a_profile(const JobSpec& job, const Accelerator& accelerator,
                              const std::vector<ProfilePoint>& points) {
  ModelProfile profile{.model = job.model.name,
                       .accelerator = accelerator,
                       .precision = job.training.precision,
                       .sequence_length = job.training.sequence_length,
                       .times = {},
                       .memory = {},
                       .source = {}};
  for (const ProfilePoint& point : points) {
    const LayerTime time{Seconds(1e-3 * point.microbatch_size), Seconds(2e-3 * point.microbatch_size), Seconds(5e-4)};
    profile.times[point].assign(static_cast<std::size_t>(job.model.layer_count()), time);
  }
  return profile;
}

}  // namespace sailor::testing
