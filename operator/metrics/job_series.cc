#include "operator/metrics/job_series.h"

#include <algorithm>

#include "operator/model/job_status.h"

namespace sailor {
namespace {

using prometheus::Labels;

// Few, because every job has its own.
const prometheus::Histogram::BucketBoundaries kRescaleBuckets = {0.25, 1, 3, 10, 30, 60, 300, 900};

Labels labels_of(const JobKey& key, Labels more) {
  more.emplace("namespace", key.namespace_name);
  more.emplace("job", key.name);
  more.emplace("job_namespace", key.namespace_name);
  more.emplace("job_name", key.name);
  return more;
}

// Returns the newest rescale that an earlier operator has counted. Counters begin at zero with the process, and such
// rescales are not counted again.
std::int64_t newest_counted(const JobStatus& status) {
  std::int64_t newest = 0;
  for (const RescaleStatus& rescale : status.rescales) {
    if (rescale.seconds) newest = std::max(newest, rescale.to_generation);
  }
  return newest;
}

bool is_counter(const JobSample& sample) { return sample.metric->kind == MetricKind::kCounter; }

}  // namespace

JobSeries::JobSeries(SeriesRegistry& registry)
    : rescale_seconds_(registry.histogram("sailor_job_rescale_seconds",
                                          "From the cause of a change to the first step of the new plan.")),
      rescale_stopped_seconds_(
          registry.histogram("sailor_job_rescale_stopped_seconds", "Time without training in a change.")),
      rescale_part_seconds_(registry.histogram("sailor_job_rescale_part_seconds",
                                               "Seconds of the changes of all jobs, split into their parts.")) {
  for (const JobMetric* metric : job_metrics::kAll) {
    if (metric->kind == MetricKind::kCounter) {
      counters_[metric] = &registry.counter(metric->name, metric->help);
    } else {
      gauges_[metric] = &registry.gauge(metric->name, metric->help);
    }
  }
}

void JobSeries::note(const ReconcileReport& report) {
  if (report.observation == nullptr || report.decision == nullptr) return;
  const JobStatus& last = report.observation->job.status;
  if (!jobs_.contains(report.job)) jobs_[report.job].counted_generation = newest_counted(last);
  const JobStatus& status = report.decision->status ? *report.decision->status : last;
  std::vector<JobSample> samples = job_samples(*report.observation, status);
  if (status.progress) {
    GoodputWindow& goodput = jobs_[report.job].goodput;
    goodput.add(status.progress->elapsed_seconds, status.progress->useful_seconds);
    if (const auto ratio = goodput.ratio()) samples.push_back({&job_metrics::kGoodputOfHour, *ratio});
  }
  set_gauges(report.job, samples);
  raise_counters(report.job, samples);
  note_rescales(report.job, status);
}

void JobSeries::set_gauges(const JobKey& key, const std::vector<JobSample>& samples) {
  Job& job = jobs_[key];
  rest_gauges(job, samples);
  for (const JobSample& sample : samples) {
    if (is_counter(sample)) continue;
    auto& gauge = job.gauges[{sample.metric, sample.labels}];
    if (gauge == nullptr) gauge = &gauges_.at(sample.metric)->add(labels_of(key, sample.labels));
    gauge->Set(sample.value);
  }
}

// Handles the gauges that have no sample now.
void JobSeries::rest_gauges(Job& job, const std::vector<JobSample>& samples) {
  std::erase_if(job.gauges, [&](const auto& entry) {
    const auto& [metric, labels] = entry.first;
    const bool has_sample = std::ranges::any_of(
        samples, [&](const JobSample& sample) { return sample.metric == metric && sample.labels == labels; });
    if (has_sample) return false;
    if (metric->kind == MetricKind::kAmount) {
      entry.second->Set(0);
      return false;
    }
    gauges_.at(metric)->remove(entry.second);
    return true;
  });
}

prometheus::Counter& JobSeries::counter(const JobKey& key, const JobMetric& metric, const Labels& labels) {
  auto& counter = jobs_[key].counters[{&metric, labels}];
  if (counter == nullptr) counter = &counters_.at(&metric)->add(labels_of(key, labels));
  return *counter;
}

void JobSeries::raise_counters(const JobKey& key, const std::vector<JobSample>& samples) {
  for (const JobSample& sample : samples) {
    if (!is_counter(sample)) continue;
    prometheus::Counter& series = counter(key, *sample.metric, sample.labels);
    if (sample.value > series.Value()) series.Increment(sample.value - series.Value());
  }
}

void JobSeries::observe(const JobKey& key, Histograms& family, double seconds) {
  auto& histogram = jobs_[key].histograms[&family];
  if (histogram == nullptr) histogram = &family.add(labels_of(key, {}), kRescaleBuckets);
  histogram->Observe(seconds);
}

// Each rescale is counted once, when its first step is done.
void JobSeries::note_rescales(const JobKey& key, const JobStatus& status) {
  for (const RescaleStatus& rescale : status.rescales) {
    Job& job = jobs_[key];
    if (rescale.to_generation <= job.counted_generation || !rescale.seconds) continue;
    job.counted_generation = rescale.to_generation;
    note_rescale(key, rescale);
  }
}

void JobSeries::note_rescale(const JobKey& key, const RescaleStatus& rescale) {
  observe(key, rescale_seconds_, rescale.seconds.value());
  if (rescale.stopped_seconds) observe(key, rescale_stopped_seconds_, *rescale.stopped_seconds);
  for (const auto& [part, seconds] : rescale.parts) {
    rescale_part_seconds_.add({{"part", std::string(to_string(part))}}, kRescaleBuckets).Observe(seconds);
  }
  counter(key, job_metrics::kRescales, {{"reason", std::string(to_string(rescale.reason))}}).Increment();
}

void JobSeries::forget(const JobKey& key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  for (auto& [series, gauge] : found->second.gauges) gauges_.at(series.first)->remove(gauge);
  for (auto& [series, counter] : found->second.counters) counters_.at(series.first)->remove(counter);
  for (auto& [family, histogram] : found->second.histograms) family->remove(histogram);
  jobs_.erase(found);
}

}  // namespace sailor
