// Measured times of a model's layers at any point: as measured, interpolated, or, outside the measured range, analytic
// times scaled to the nearest measurement.
#pragma once

#include <string>
#include <vector>

#include "core/model/accelerator.h"
#include "core/model/job_spec.h"
#include "core/model/profile.h"

namespace sailor {

struct LayerTimes {
  std::vector<LayerTime> layers;
  std::string note;  // where they are from; empty: measured at this very point
};

// `profile` may be null; it is of as many layers as the job's model has.
LayerTimes layer_times(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile,
                       ProfilePoint point);

}  // namespace sailor
