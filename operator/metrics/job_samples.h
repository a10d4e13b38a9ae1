// JobSamples: what the metrics of a job say now, as values. JobSeries puts them into the registry.
#pragma once

#include <vector>

#include <prometheus/labels.h>

#include "operator/metrics/job_metrics.h"
#include "operator/model/observation.h"

namespace sailor {

struct JobSample {
  const JobMetric* metric = nullptr;
  double value = 0;
  prometheus::Labels labels = {};  // besides those that name the job
};

// `status` is the newest status of the observed job. A metric without a sample has no value now.
std::vector<JobSample> job_samples(const Observation& observation, const JobStatus& status);

}  // namespace sailor
