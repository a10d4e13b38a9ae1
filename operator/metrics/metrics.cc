#include "operator/metrics/metrics.h"

#include "operator/metrics/job_series.h"
#include "operator/metrics/pool_series.h"
#include "operator/metrics/process_series.h"

namespace sailor {
namespace {

constexpr const char* kController = "trainingjob";
const prometheus::Histogram::BucketBoundaries kSeconds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,     2.5,  5,     10,   30};

}  // namespace

Metrics::Metrics()
    : jobs_(std::make_unique<JobSeries>(registry_)),
      pools_(std::make_unique<PoolSeries>(registry_)),
      process_(std::make_unique<ProcessSeries>(registry_)),
      reconciles_(registry_.counter("controller_runtime_reconcile_total", "Passes over jobs, by result.")),
      reconcile_errors_(registry_.counter("controller_runtime_reconcile_errors_total", "Passes that failed.")),
      reconcile_seconds_(registry_.histogram("controller_runtime_reconcile_time_seconds", "Length of a pass.")),
      queue_depth_(registry_.gauge("workqueue_depth", "Jobs that wait to be looked at.")),
      queue_adds_(registry_.counter("workqueue_adds_total", "Additions to the work queue.")),
      queue_retries_(registry_.counter("workqueue_retries_total", "Additions after a failure.")),
      queue_seconds_(registry_.histogram("workqueue_queue_duration_seconds", "How long jobs wait in the queue.")),
      requests_(registry_.counter("rest_client_requests_total", "Requests to the API server; code 0: no answer.")),
      request_seconds_(
          registry_.histogram("rest_client_request_duration_seconds", "Length of a request to the API server.")),
      leader_(registry_.gauge("leader_election_master_status", "Whether this process leads.")),
      plan_seconds_(registry_.histogram("sailor_plan_seconds", "Length of a search for a plan.")) {
  registry_.gauge("sailor_build_info", "1; the label says which version runs.")
      .add({{"version", SAILOR_VERSION}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::reconciled(const ReconcileReport& report) {
  const bool failed = !report.failure.empty();
  const bool requeues = report.decision != nullptr && report.decision->requeue_after.has_value();
  const char* result = "success";
  if (requeues) result = "requeue_after";
  if (failed) result = "error";
  const std::scoped_lock lock(mutex_);
  reconciles_.add({{"controller", kController}, {"result", result}}).Increment();
  if (failed) reconcile_errors_.add({{"controller", kController}}).Increment();
  reconcile_seconds_.add({{"controller", kController}}, kSeconds).Observe(report.seconds);
  if (!failed) jobs_->note(report);
}

void Metrics::planned(const PlanAnswer& answer, double seconds) {
  plan_seconds_
      .add({{"result", answer.result ? "planned" : std::string(to_string(answer.result.error().code))}}, kSeconds)
      .Observe(seconds);
}

void Metrics::requested(const std::string& method, int code, double seconds) {
  requests_.add({{"method", method}, {"code", std::to_string(code)}, {"host", "kubernetes"}}).Increment();
  if (method != "WATCH") request_seconds_.add({{"verb", method}}, kSeconds).Observe(seconds);
}

void Metrics::waited(double seconds) { queue_seconds_.add({{"name", kController}}, kSeconds).Observe(seconds); }

void Metrics::queue(std::size_t depth, const QueueStatistics& statistics) {
  queue_depth_.add({{"name", kController}}).Set(static_cast<double>(depth));
  raise_to(queue_adds_.add({{"name", kController}}), static_cast<double>(statistics.adds));
  raise_to(queue_retries_.add({{"name", kController}}), static_cast<double>(statistics.retries));
}

void Metrics::leads(const std::string& lease, bool is_leader) { leader_.add({{"name", lease}}).Set(is_leader ? 1 : 0); }

void Metrics::cluster(const ClusterView& view, const PoolHistories& histories) {
  const std::scoped_lock lock(mutex_);
  pools_->note(view, histories);
}

void Metrics::process() { process_->update(); }

void Metrics::forget(const JobKey& job) {
  const std::scoped_lock lock(mutex_);
  jobs_->forget(job);
}

}  // namespace sailor
