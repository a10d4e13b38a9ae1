// Measurements: what the workers of a job report about their speed, and the estimates that the operator keeps of it
// from one observation to the next.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "operator/model/observation.h"
#include "operator/stragglers/job_speeds.h"

namespace sailor {

// Returns the newest reports of the workers that train the running generation, and of those that are probed.
std::vector<PassTime> pass_times(const Observation& observation);

// The length of a step, measured in units of the planner's estimates.
class StepLengths {
 public:
  // `is_as_planned`: all GPUs are as fast as the plan assumes. Only then the ratio of measured and estimated lengths is
  // learned: it is the error of the profile, and not the slowness of a GPU.
  void note(const JobProgress& progress, double estimated_seconds, bool is_as_planned);

  // Returns the length of a step at present as the planner would estimate it; nothing if the ratio is not known.
  [[nodiscard]] std::optional<double> present() const;

 private:
  std::deque<double> ratios_;  // measured over estimated
  std::int64_t step_ = 0;
  double measured_ = 0;
};

// The estimates of all jobs. They are lost with the operator: a new one learns again what is usual, and takes the slow
// GPUs from the record.
class Measurements {
 public:
  // Takes the reports in the observation, and sets Observation::gpu_speeds and Observation::present_step_seconds.
  void fill_in(Observation& observation);
  void forget(const JobKey& job);

 private:
  struct Job {
    JobSpeeds speeds;
    StepLengths steps;
  };

  std::mutex mutex_;
  std::map<JobKey, Job> jobs_;
};

}  // namespace sailor
