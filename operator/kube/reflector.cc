#include "operator/kube/reflector.h"

#include <condition_variable>
#include <random>
#include <utility>

namespace sailor::kube {
namespace {

constexpr auto kHealthy = std::chrono::minutes(2);     // a watch that ran for longer resets the back-off
constexpr auto kShortWatch = std::chrono::seconds(1);  // a watch that ends sooner, without an event, has failed
constexpr int kShortestWatch = 300;  // in seconds; the durations vary, so the watches do not all end at the same time
constexpr int kLongestWatch = 600;

std::chrono::seconds watch_duration() {
  static thread_local std::minstd_rand random(std::random_device{}());
  return std::chrono::seconds(std::uniform_int_distribution<int>(kShortestWatch, kLongestWatch)(random));
}

}  // namespace

void interruptible_sleep(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

Reflector::Reflector(Api& api, Resource resource, Selection selection, Store& store, ReflectorHooks hooks)
    : api_(api),
      resource_(std::move(resource)),
      selection_(std::move(selection)),
      store_(store),
      hooks_(std::move(hooks)) {
  if (!hooks_.sleep) hooks_.sleep = interruptible_sleep;
}

void Reflector::run(std::stop_token stop) {
  Backoff backoff(kWatchBackoff);
  while (!stop.stop_requested()) {
    const auto start = std::chrono::steady_clock::now();
    const bool went_well = run_once(stop);
    if (went_well || std::chrono::steady_clock::now() - start > kHealthy) backoff.reset();
    if (went_well || stop.stop_requested()) continue;
    hooks_.sleep(std::max(backoff.next(), std::exchange(retry_after_, std::chrono::milliseconds(0))), stop);
  }
}

bool Reflector::run_once(std::stop_token stop) {
  const bool is_fresh = version_.empty();
  if (is_fresh && !relist()) return false;
  const long events_before = events_;
  const auto start = std::chrono::steady_clock::now();
  const auto ended = api_.watch(
      resource_, selection_, {version_, watch_duration()}, [this](WatchEvent event) { take(std::move(event)); }, stop);
  if (stop.stop_requested()) return true;
  if (!ended) {
    note_failure(ended.error());
    return ended.error().is_expired() && !is_fresh;  // list again, at once unless the list is new
  }
  return events_ != events_before || std::chrono::steady_clock::now() - start > kShortWatch;
}

bool Reflector::relist() {
  auto list = api_.list(resource_, selection_, [this](Json object) { return store_.trimmed(std::move(object)); });
  if (!list) {
    note_failure(list.error());
    return false;
  }
  version_ = list->version;
  store_.replace(std::move(list->items), selection_.namespace_name);
  return true;
}

void Reflector::take(WatchEvent event) {
  if (event.type == WatchEvent::Type::kUnknown) return;
  ++events_;
  version_ = version_of(event.object);
  if (event.type == WatchEvent::Type::kPut) store_.put(std::move(event.object));
  if (event.type == WatchEvent::Type::kDeleted) store_.erase(event.object);
}

void Reflector::note_failure(const ApiError& error) {
  if (error.is_expired()) version_.clear();  // the server no longer has the history since this version
  retry_after_ = error.retry_after.value_or(std::chrono::milliseconds(0));
  hooks_.failed(error);
}

}  // namespace sailor::kube
