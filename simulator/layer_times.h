// Times of a model's layers at any profile point. They are measured or interpolated. Outside the measured range, they
// are analytic times that are scaled to the nearest measurement. Without a profile, they are analytic.
#pragma once

#include <string>
#include <vector>

#include "core/model/accelerator.h"
#include "core/model/job_spec.h"
#include "core/model/profile.h"

namespace sailor {

struct LayerTimes {
  std::vector<LayerTime> layers;
  std::string note;  // says where the times are from; empty: measured at exactly this point
};

// `profile` may be null. It must have as many layers as the job's model.
LayerTimes layer_times(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile,
                       ProfilePoint point);

// Returns the profile that a running job has which hides all but the part `exposed` of its launch overhead
// (ExecutionModel::launch_exposed).
ModelProfile with_launches_exposed(ModelProfile profile, double exposed);

}  // namespace sailor
