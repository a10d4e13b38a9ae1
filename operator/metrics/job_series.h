// JobSeries: the Prometheus series of all jobs. The series of a job stay in the registry for as long as the job exists.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "operator/reconcile/controller.h"

namespace sailor {

class JobSeries {
 public:
  explicit JobSeries(prometheus::Registry& registry);

  void note(const ReconcileReport& report);  // call it after each reconcile that succeeded
  void forget(const JobKey& job);            // removes the series of the job

 private:
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  using Counters = prometheus::Family<prometheus::Counter>;
  // The series of one job, by their names and labels.
  struct Series {
    std::map<std::string, std::pair<Gauges*, prometheus::Gauge*>> gauges;
    std::map<std::string, std::pair<Counters*, prometheus::Counter*>> counters;
    std::map<std::string, std::pair<Histograms*, prometheus::Histogram*>> histograms;
    std::int64_t counted_generation = 0;  // the generation that the newest counted rescale led to
  };

  void set(const JobKey& job, Gauges& family, double value, prometheus::Labels labels = {});
  // Increases the counter to `value` unless it is greater already.
  void raise(const JobKey& job, Counters& family, double value, prometheus::Labels labels = {});
  void note_progress(const JobKey& job, const ProgressStatus& progress);
  void note_plan(const ReconcileReport& report, const PlanStatus& plan);
  void note_rescales(const JobKey& job, const JobStatus& status);
  void note_rescale(const JobKey& job, const RescaleStatus& rescale);
  void observe(const JobKey& job, Histograms& family, double seconds, prometheus::Labels labels = {});
  void drop_gpu_series(const JobKey& job);

  std::map<JobKey, Series> jobs_;
  Gauges& step_;
  Gauges& loss_;
  Gauges& validation_loss_;
  Gauges& skipped_steps_;
  Counters& tokens_;
  Gauges& tokens_per_second_;
  Gauges& planned_tokens_per_second_;
  Gauges& gpus_;
  Counters& dollars_;
  Gauges& dollars_per_hour_;
  Gauges& dollars_per_million_tokens_;
  Gauges& goodput_;
  Gauges& generation_;
  Gauges& bound_ratio_;
  Counters& rescales_;
  Counters& lost_steps_;
  Histograms& rescale_seconds_;
  Histograms& rescale_part_seconds_;
  Histograms& rescale_stopped_seconds_;
};

}  // namespace sailor
