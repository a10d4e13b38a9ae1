#include "operator/reconcile/event_sender.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

constexpr auto kSeriesEnds = std::chrono::minutes(6);  // as in client-go
constexpr double kBurst = 10;
constexpr std::chrono::duration<double> kPerEvent = std::chrono::minutes(1);
constexpr std::size_t kMostWaiting = 1000;

}  // namespace

EventSender::EventSender(kube::Api& api, std::string instance, Clock clock)
    : api_(api), instance_(std::move(instance)), clock_(std::move(clock)) {}

Json EventSender::object_of(const JobReference& job, const JobEvent& event, Time now) {
  const Json regarding = {{"apiVersion", kube::kTrainingJobs.group_version},
                          {"kind", kube::kTrainingJobs.kind},
                          {"namespace", job.key.namespace_name},
                          {"name", job.key.name},
                          {"uid", job.uid}};
  const auto unique = std::chrono::system_clock::now().time_since_epoch().count();
  return {{"apiVersion", kube::kEvents.group_version},
          {"kind", kube::kEvents.kind},
          {"metadata",
           {{"name", fmt::format("{}.{:x}{:x}", short_job_name(job.key.name), unique, ++posted_)},
            {"namespace", job.key.namespace_name}}},
          {"eventTime", to_rfc3339_micro(now)},
          {"regarding", regarding},
          {"type", event.is_warning ? "Warning" : "Normal"},
          {"reason", to_string(event.reason)},
          {"note", event.message},
          {"action", to_string(event.reason)},
          {"reportingController", "sailor.dev/operator"},
          {"reportingInstance", instance_}};
}

bool EventSender::is_allowed(const std::string& job_uid, Time now) {
  const auto [entry, is_new] = allowances_.emplace(job_uid, Allowance{kBurst, now});
  Allowance& allowance = entry->second;
  const std::chrono::duration<double> passed = now - std::exchange(allowance.counted_at, now);
  const double more = std::max(0.0, passed / kPerEvent);  // the clock may have been set back
  allowance.events = std::min(kBurst, allowance.events + more);
  if (allowance.events < 1) return false;
  allowance.events -= 1;
  return true;
}

// Writes the count whenever it has doubled, so that a series of any length takes few writes.
void EventSender::continue_series(Series& series, Time now) {
  ++series.count;
  series.newest = now;
  if (!std::has_single_bit(static_cast<unsigned long>(series.count))) return;
  series.object["series"] = {{"count", series.count}, {"lastObservedTime", to_rfc3339_micro(now)}};
  waiting_.push_back(series.object);
}

void EventSender::forget_old(Time now) {
  std::erase_if(series_, [&](const auto& entry) { return now - entry.second.newest >= kSeriesEnds; });
  std::erase_if(allowances_, [&](const auto& entry) {
    const std::chrono::duration<double> passed = now - entry.second.counted_at;
    return entry.second.events + passed / kPerEvent >= kBurst;
  });
}

void EventSender::take(const JobReference& job, const JobEvent& event) {
  const std::scoped_lock lock(mutex_);
  const Time now = clock_();
  forget_old(now);
  const Kind kind{job.uid, event.reason, event.is_warning};
  const auto series = series_.find(kind);
  if (series != series_.end() && series->second.note == event.message) {
    continue_series(series->second, now);
  } else if (waiting_.size() < kMostWaiting && is_allowed(job.uid, now)) {
    Json object = object_of(job, event, now);
    series_[kind] = {event.message, object, 1, now};
    waiting_.push_back(std::move(object));
  }
  taken_.notify_one();
}

void EventSender::flush() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    const Json object = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const bool continues = object.contains("series");
    // A failure is ignored, because the status contains the same information.
    [[maybe_unused]] const auto sent =
        continues ? api_.apply(kube::kEvents, object) : api_.create(kube::kEvents, object);
    lock.lock();
  }
}

void EventSender::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      taken_.wait(lock, stop, [this] { return !waiting_.empty(); });
    }
    flush();
  }
}

}  // namespace sailor
