#include "operator/metrics/job_series.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "operator/model/job_status.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

using kube::Json;
using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Labels;

const prometheus::Histogram::BucketBoundaries kRescaleBuckets = {0.01, 0.05, 0.1, 0.25, 0.5, 1,   2,   3,  5,
                                                                 8,    12,   20,  30,   60,  120, 300, 900};
constexpr std::array<const char*, 7> kParts = {"detect", "plan", "pods", "push", "regroup", "transfer", "firstStep"};

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

double number(const Json& object, kube::Path path) {
  const Json* found = kube::find_at(object, path);
  if (found == nullptr) return 0;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? std::strtod(found->get_ref<const std::string&>().c_str(), nullptr) : 0;
}

// Counters begin at zero with the process: what an operator before this one has counted is not counted again.
std::int64_t newest_counted(const Json& status) {
  std::int64_t newest = 0;
  for (const Json& entry : kube::list_at(status, {"rescales"})) {
    if (entry.contains("seconds")) newest = std::max(newest, kube::integer_at(entry, {"toGeneration"}));
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
  if (!jobs_.contains(report.job))
    jobs_[report.job].counted_generation = newest_counted(report.observation->job.status);
  const Json& status = report.decision->status ? *report.decision->status : report.observation->job.status;
  if (!status.is_object()) return;
  note_progress(report.job, status);
  note_plan(report, status);
  note_rescales(report.job, status);
}

void JobSeries::note_progress(const JobKey& job, const Json& status) {
  if (kube::find_at(status, {"progress", "step"}) == nullptr) return;
  const double tokens = number(status, {"progress", "tokens"});
  const double dollars = number(status, {"progress", "dollarsSpent"});
  set(job, step_, number(status, {"progress", "step"}));
  set(job, loss_, number(status, {"progress", "loss"}));
  if (kube::find_at(status, {"progress", "validationLoss"}) != nullptr) {
    set(job, validation_loss_, number(status, {"progress", "validationLoss"}));
  }
  set(job, skipped_steps_, number(status, {"progress", "stepsSkipped"}));
  raise(job, tokens_, tokens);
  set(job, tokens_per_second_, number(status, {"progress", "tokensPerSecond"}));
  raise(job, dollars_, dollars);
  if (tokens > 0) set(job, dollars_per_million_tokens_, dollars / tokens * 1e6);
  raise(job, lost_steps_, number(status, {"progress", "stepsLost"}));
  const double elapsed = number(status, {"progress", "elapsedSeconds"});
  if (elapsed > 0) set(job, goodput_, std::min(1.0, number(status, {"progress", "usefulSeconds"}) / elapsed));
}

void JobSeries::drop_gpu_series(const JobKey& job) {
  auto& gauges = jobs_[job].gauges;
  std::erase_if(gauges, [this](const auto& entry) {
    if (entry.second.first != &gpus_) return false;
    gpus_.Remove(entry.second.second);
    return true;
  });
}

void JobSeries::note_plan(const ReconcileReport& report, const Json& status) {
  if (kube::find_at(status, {"plan"}) == nullptr) return;
  set(report.job, generation_, number(status, {"plan", "generation"}));
  set(report.job, planned_tokens_per_second_, number(status, {"plan", "estimate", "tokensPerSecond"}));
  set(report.job, dollars_per_hour_, dollars_per_hour(*report.observation));
  if (report.observation->record) set(report.job, bound_ratio_, report.observation->record->summary.bound_ratio);
  drop_gpu_series(report.job);
  for (const Json& entry : kube::list_at(status, {"plan", "gpus"})) {
    const std::string pool = kube::text_at(entry, {"pool"});
    const auto key = parse_pool_key(pool);
    if (!key) continue;
    set(report.job, gpus_, number(entry, {"gpus"}),
        {{"pool", pool}, {"accelerator", key->accelerator.str()}, {"zone", key->zone.str()}});
  }
}

void JobSeries::observe(const JobKey& job, Histograms& family, double seconds, Labels labels) {
  labels = labels_of(job, std::move(labels));
  auto& entry = jobs_[job].histograms[text_of(family.GetName(), labels)];
  if (entry.second == nullptr) entry = {&family, &family.Add(labels, kRescaleBuckets)};
  entry.second->Observe(seconds);
}

// Rescales are counted from the status, once each, when their first step is done.
void JobSeries::note_rescales(const JobKey& job, const Json& status) {
  for (const Json& entry : kube::list_at(status, {"rescales"})) {
    Series& series = jobs_[job];
    const auto generation = kube::integer_at(entry, {"toGeneration"});
    if (generation <= series.counted_generation || !entry.contains("seconds")) continue;
    series.counted_generation = generation;
    note_rescale(job, entry);
  }
}

void JobSeries::note_rescale(const JobKey& job, const Json& entry) {
  observe(job, rescale_seconds_, number(entry, {"seconds"}));
  if (entry.contains("stoppedSeconds")) observe(job, rescale_stopped_seconds_, number(entry, {"stoppedSeconds"}));
  for (const char* part : kParts) {
    if (kube::find_at(entry, {"parts", part}) == nullptr) continue;
    observe(job, rescale_part_seconds_, number(entry, {"parts", part}), {{"part", part}});
  }
  const Labels reason = labels_of(job, {{"reason", kube::text_at(entry, {"reason"})}});
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
