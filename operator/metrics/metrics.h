// Metrics: what Prometheus scrapes from the operator. Dashboards rely on the names, so none may change.
// docs/monitoring.md lists them.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "operator/metrics/series_registry.h"
#include "operator/reconcile/controller.h"
#include "operator/reconcile/planning_service.h"

namespace sailor {

class JobSeries;
class PoolSeries;
class ProcessSeries;

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void reconciled(const ReconcileReport& report);
  void planned(const PlanAnswer& answer, double seconds);
  void requested(const std::string& method, int code, double seconds);
  void waited(double seconds);  // a key was in the work queue for this long
  void queue(std::size_t depth, const QueueStatistics& statistics);
  void leads(const std::string& lease, bool is_leader);
  void cluster(const ClusterView& view, const PoolHistories& histories);
  void process();                  // updates the metrics of this process
  void forget(const JobKey& job);  // removes the series of a job that is gone

  [[nodiscard]] std::string text() const { return registry_.text(); }  // what Prometheus reads

 private:
  SeriesRegistry registry_;
  std::mutex mutex_;
  std::unique_ptr<JobSeries> jobs_;
  std::unique_ptr<PoolSeries> pools_;
  std::unique_ptr<ProcessSeries> process_;
  SeriesFamily<prometheus::Counter>& reconciles_;
  SeriesFamily<prometheus::Counter>& reconcile_errors_;
  SeriesFamily<prometheus::Histogram>& reconcile_seconds_;
  SeriesFamily<prometheus::Gauge>& queue_depth_;
  SeriesFamily<prometheus::Counter>& queue_adds_;
  SeriesFamily<prometheus::Counter>& queue_retries_;
  SeriesFamily<prometheus::Histogram>& queue_seconds_;
  SeriesFamily<prometheus::Counter>& requests_;
  SeriesFamily<prometheus::Histogram>& request_seconds_;
  SeriesFamily<prometheus::Gauge>& leader_;
  SeriesFamily<prometheus::Histogram>& plan_seconds_;
};

}  // namespace sailor
