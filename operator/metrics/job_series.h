// JobSeries: the Prometheus series of all jobs. The series of a job stay in the registry for as long as the job exists.
//
// Each series names its job twice: as `job_namespace` and `job_name`, and as `namespace` and `job`. A scrape without
// honorLabels renames the latter (docs/decisions/0031-series-name-their-job-twice.md).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "operator/metrics/goodput_window.h"
#include "operator/metrics/job_samples.h"
#include "operator/metrics/series_registry.h"
#include "operator/reconcile/controller.h"

namespace sailor {

class JobSeries {
 public:
  explicit JobSeries(SeriesRegistry& registry);

  void note(const ReconcileReport& report);  // call it after each reconcile that succeeded
  void forget(const JobKey& job);            // removes the series of the job

 private:
  using Gauges = SeriesFamily<prometheus::Gauge>;
  using Histograms = SeriesFamily<prometheus::Histogram>;
  using Counters = SeriesFamily<prometheus::Counter>;
  using SeriesKey = std::pair<const JobMetric*, prometheus::Labels>;
  struct Job {
    std::map<SeriesKey, prometheus::Gauge*> gauges;
    std::map<SeriesKey, prometheus::Counter*> counters;
    std::map<Histograms*, prometheus::Histogram*> histograms;
    GoodputWindow goodput;
    std::int64_t counted_generation = 0;  // the generation that the newest counted rescale led to
  };

  void set_gauges(const JobKey& key, const std::vector<JobSample>& samples);
  void rest_gauges(Job& job, const std::vector<JobSample>& samples);
  prometheus::Counter& counter(const JobKey& key, const JobMetric& metric, const prometheus::Labels& labels);
  void raise_counters(const JobKey& key, const std::vector<JobSample>& samples);
  void note_rescales(const JobKey& key, const JobStatus& status);
  void note_rescale(const JobKey& key, const RescaleStatus& rescale);
  void observe(const JobKey& key, Histograms& family, double seconds);

  std::map<JobKey, Job> jobs_;
  std::map<const JobMetric*, Gauges*> gauges_;
  std::map<const JobMetric*, Counters*> counters_;
  Histograms& rescale_seconds_;
  Histograms& rescale_stopped_seconds_;
  Histograms& rescale_part_seconds_;
};

}  // namespace sailor
