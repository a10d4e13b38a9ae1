// The series of a job: what they say, and that they go with it.
#include "operator/metrics/job_series.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

// Nothing: there is no such series.
std::optional<double> value_of(prometheus::Registry& registry, const std::string& name) {
  for (const auto& family : registry.Collect()) {
    if (family.name == name && !family.metric.empty()) return family.metric.front().gauge.value;
  }
  return std::nullopt;
}

void note(JobSeries& series, const JobKey& job, const kube::Json& progress) {
  Observation observation;
  Decision decision;
  decision.status = job_status_from_json({{"progress", progress}});
  series.note({.job = job, .observation = &observation, .decision = &decision});
}

TEST(JobSeries, GoodputIsTheShareOfUsefulTimeAndGoesWithTheJob) {
  const JobKey job{"default", "job"};
  prometheus::Registry registry;
  JobSeries series(registry);
  note(series, job, {{"step", 0}, {"elapsedSeconds", "0.000"}, {"usefulSeconds", "0.000"}});
  EXPECT_EQ(value_of(registry, "sailor_job_goodput_ratio"), std::nullopt) << "a share of no time";
  note(series, job, {{"step", 10}, {"elapsedSeconds", "40.000"}, {"usefulSeconds", "30.000"}});
  EXPECT_EQ(value_of(registry, "sailor_job_goodput_ratio"), 0.75);
  note(series, job, {{"step", 20}, {"elapsedSeconds", "50.000"}, {"usefulSeconds", "50.500"}});
  EXPECT_EQ(value_of(registry, "sailor_job_goodput_ratio"), 1.0) << "a mean of steps may exceed what they took";
  series.forget(job);
  EXPECT_EQ(value_of(registry, "sailor_job_goodput_ratio"), std::nullopt);
}

}  // namespace
}  // namespace sailor
