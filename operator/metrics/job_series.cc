#include "operator/metrics/job_series.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/job_status.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Labels;

const prometheus::Histogram::BucketBoundaries kRescaleBuckets = {0.01, 0.05, 0.1, 0.25, 0.5, 1,   2,   3,  5,
                                                                 8,    12,   20,  30,   60,  120, 300, 900};

auto& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

auto& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

auto& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

Labels labels_of(const JobKey& job, Labels more) {
  more.emplace("namespace", job.namespace_name);
  more.emplace("job", job.name);
  return more;
}

std::string text_of(const std::string& family, const Labels& labels) {
  std::string text = family;
  for (const auto& [name, value] : labels) text += fmt::format("|{}={}", name, value);
  return text;
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

}  // namespace

JobSeries::JobSeries(prometheus::Registry& registry)
    : step_(gauge(registry, "sailor_job_step", "Optimizer steps done.")),
      loss_(gauge(registry, "sailor_job_loss", "Mean loss of the last step, nats per token.")),
      validation_loss_(
          gauge(registry, "sailor_job_validation_loss", "Mean loss of the newest evaluation, nats per token.")),
      skipped_steps_(gauge(registry, "sailor_job_skipped_steps",
                           "Steps of the newest plan left out because their loss or gradient was no number.")),
      tokens_(counter(registry, "sailor_job_tokens_total", "Tokens learned from.")),
      tokens_per_second_(gauge(registry, "sailor_job_tokens_per_second", "Measured speed.")),
      planned_tokens_per_second_(
          gauge(registry, "sailor_job_planned_tokens_per_second", "Speed that the planner expects.")),
      gpus_(gauge(registry, "sailor_job_gpus", "GPUs of the newest plan.")),
      dollars_(counter(registry, "sailor_job_cost_dollars_total", "US dollars of GPUs and traffic so far.")),
      dollars_per_hour_(
          gauge(registry, "sailor_job_cost_dollars_per_hour", "US dollars an hour of the pods that run.")),
      dollars_per_million_tokens_(
          gauge(registry, "sailor_job_cost_dollars_per_million_tokens", "US dollars so far, for a million tokens.")),
      goodput_(gauge(
          registry, "sailor_job_goodput_ratio",
          "Share of the job's time, but for that in which it is suspended, in which steps were computed that count.")),
      generation_(gauge(registry, "sailor_job_generation", "Number of the newest plan.")),
      bound_ratio_(
          gauge(registry, "sailor_plan_bound_ratio", "Throughput of the plan over a bound that no plan exceeds.")),
      rescales_(counter(registry, "sailor_job_rescales_total", "Changes from one plan to the next.")),
      lost_steps_(counter(registry, "sailor_job_lost_steps_total", "Steps that had to be done again.")),
      rescale_seconds_(histogram(registry, "sailor_job_rescale_seconds",
                                 "From the cause of a change to the first step under the new plan.")),
      rescale_part_seconds_(
          histogram(registry, "sailor_job_rescale_part_seconds", "What the seconds of a change were spent on.")),
      rescale_stopped_seconds_(
          histogram(registry, "sailor_job_rescale_stopped_seconds", "How long training stood still for a change.")) {}

void JobSeries::set(const JobKey& job, Gauges& family, double value, Labels labels) {
  labels = labels_of(job, std::move(labels));
  auto& entry = jobs_[job].gauges[text_of(family.GetName(), labels)];
  if (entry.second == nullptr) entry = {&family, &family.Add(labels)};
  entry.second->Set(value);
}

void JobSeries::raise(const JobKey& job, Counters& family, double value, Labels labels) {
  labels = labels_of(job, std::move(labels));
  auto& entry = jobs_[job].counters[text_of(family.GetName(), labels)];
  if (entry.second == nullptr) entry = {&family, &family.Add(labels)};
  if (value > entry.second->Value()) entry.second->Increment(value - entry.second->Value());
}

void JobSeries::note(const ReconcileReport& report) {
  if (report.observation == nullptr || report.decision == nullptr) return;
  const JobStatus& last = report.observation->job.status;
  if (!jobs_.contains(report.job)) jobs_[report.job].counted_generation = newest_counted(last);
  const JobStatus& status = report.decision->status ? *report.decision->status : last;
  if (status.progress) note_progress(report.job, *status.progress);
  if (status.plan) note_plan(report, *status.plan);
  note_rescales(report.job, status);
}

void JobSeries::note_progress(const JobKey& job, const ProgressStatus& progress) {
  if (!progress.newest) return;
  const StepStatus& newest = *progress.newest;
  const auto tokens = static_cast<double>(newest.tokens);
  set(job, step_, static_cast<double>(newest.step));
  set(job, loss_, newest.loss);
  if (newest.validation_loss) set(job, validation_loss_, *newest.validation_loss);
  set(job, skipped_steps_, static_cast<double>(newest.steps_skipped));
  raise(job, tokens_, tokens);
  set(job, tokens_per_second_, static_cast<double>(newest.tokens_per_second));
  raise(job, dollars_, progress.dollars_spent);
  if (tokens > 0) set(job, dollars_per_million_tokens_, progress.dollars_spent / tokens * 1e6);
  raise(job, lost_steps_, static_cast<double>(newest.steps_lost));
  const double elapsed = progress.elapsed_seconds;
  if (elapsed > 0) set(job, goodput_, std::min(1.0, progress.useful_seconds / elapsed));
}

void JobSeries::drop_gpu_series(const JobKey& job) {
  auto& gauges = jobs_[job].gauges;
  std::erase_if(gauges, [this](const auto& entry) {
    if (entry.second.first != &gpus_) return false;
    gpus_.Remove(entry.second.second);
    return true;
  });
}

void JobSeries::note_plan(const ReconcileReport& report, const PlanStatus& plan) {
  set(report.job, generation_, static_cast<double>(plan.generation));
  set(report.job, planned_tokens_per_second_, static_cast<double>(plan.tokens_per_second));
  set(report.job, dollars_per_hour_, dollars_per_hour(*report.observation));
  if (report.observation->record) set(report.job, bound_ratio_, report.observation->record->summary.bound_ratio);
  drop_gpu_series(report.job);
  for (const auto& [pool, gpus] : plan.gpus) {
    set(report.job, gpus_, gpus,
        {{"pool", to_string(pool)}, {"accelerator", pool.accelerator.str()}, {"zone", pool.zone.str()}});
  }
}

void JobSeries::observe(const JobKey& job, Histograms& family, double seconds, Labels labels) {
  labels = labels_of(job, std::move(labels));
  auto& entry = jobs_[job].histograms[text_of(family.GetName(), labels)];
  if (entry.second == nullptr) entry = {&family, &family.Add(labels, kRescaleBuckets)};
  entry.second->Observe(seconds);
}

// Each rescale is counted once, when its first step is done.
void JobSeries::note_rescales(const JobKey& job, const JobStatus& status) {
  for (const RescaleStatus& rescale : status.rescales) {
    Series& series = jobs_[job];
    if (rescale.to_generation <= series.counted_generation || !rescale.seconds) continue;
    series.counted_generation = rescale.to_generation;
    note_rescale(job, rescale);
  }
}

void JobSeries::note_rescale(const JobKey& job, const RescaleStatus& rescale) {
  observe(job, rescale_seconds_, rescale.seconds.value());
  if (rescale.stopped_seconds) observe(job, rescale_stopped_seconds_, *rescale.stopped_seconds);
  for (const auto& [part, seconds] : rescale.parts) {
    observe(job, rescale_part_seconds_, seconds, {{"part", std::string(to_string(part))}});
  }
  const Labels reason = labels_of(job, {{"reason", std::string(to_string(rescale.reason))}});
  auto& count = jobs_[job].counters[text_of("sailor_job_rescales_total", reason)];
  if (count.second == nullptr) count = {&rescales_, &rescales_.Add(reason)};
  count.second->Increment();
}

void JobSeries::forget(const JobKey& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  for (auto& [name, entry] : found->second.gauges) entry.first->Remove(entry.second);
  for (auto& [name, entry] : found->second.counters) entry.first->Remove(entry.second);
  for (auto& [name, entry] : found->second.histograms) entry.first->Remove(entry.second);
  jobs_.erase(found);
}

}  // namespace sailor
