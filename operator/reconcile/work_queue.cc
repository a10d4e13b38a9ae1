#include "operator/reconcile/work_queue.h"

#include <algorithm>
#include <utility>

namespace sailor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstRetry{5};
constexpr milliseconds kLastRetry = std::chrono::minutes(1);

milliseconds retry_delay(int failures) {
  return failures > 13 ? kLastRetry : std::min(kLastRetry, kFirstRetry * (1 << failures));
}

}  // namespace

void WorkQueue::push(const JobKey& key) {
  ++statistics_.adds;
  if (working_.contains(key)) {
    again_.insert(key);
    return;
  }
  if (queued_.emplace(key, steady_clock::now()).second) ready_.push_back(key);
  changed_.notify_one();
}

void WorkQueue::add(const JobKey& key) {
  const std::scoped_lock lock(mutex_);
  push(key);
}

void WorkQueue::add_after(const JobKey& key, milliseconds delay) {
  const std::scoped_lock lock(mutex_);
  const Instant due = steady_clock::now() + delay;
  const auto [entry, is_new] = delayed_.emplace(key, due);
  if (!is_new) entry->second = std::min(entry->second, due);
  changed_.notify_one();
}

void WorkQueue::retry(const JobKey& key) {
  milliseconds delay{0};
  {
    const std::scoped_lock lock(mutex_);
    ++statistics_.retries;
    delay = retry_delay(failures_[key]++);
  }
  add_after(key, delay);
}

void WorkQueue::forget(const JobKey& key) {
  const std::scoped_lock lock(mutex_);
  failures_.erase(key);
}

void WorkQueue::push_due(Instant now) {
  for (auto entry = delayed_.begin(); entry != delayed_.end();) {
    if (entry->second > now) {
      ++entry;
      continue;
    }
    push(entry->first);
    entry = delayed_.erase(entry);
  }
}

std::optional<WorkQueue::Instant> WorkQueue::next_due() const {
  const auto first = std::ranges::min_element(delayed_, {}, [](const auto& entry) { return entry.second; });
  return first == delayed_.end() ? std::nullopt : std::optional(first->second);
}

std::optional<JobKey> WorkQueue::take(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    push_due(steady_clock::now());
    if (!ready_.empty()) {
      JobKey key = std::move(ready_.front());
      ready_.pop_front();
      waited_(std::chrono::duration<double>(steady_clock::now() - queued_.at(key)).count());
      queued_.erase(key);
      working_.insert(key);
      return key;
    }
    const auto due = next_due();
    const Instant until = due.value_or(steady_clock::now() + std::chrono::hours(1));
    changed_.wait_until(lock, stop, until, [this, due] { return !ready_.empty() || next_due() != due; });
  }
  return std::nullopt;
}

void WorkQueue::done(const JobKey& key) {
  const std::scoped_lock lock(mutex_);
  working_.erase(key);
  if (again_.erase(key) > 0) push(key);
}

std::size_t WorkQueue::depth() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size();
}

QueueStatistics WorkQueue::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

}  // namespace sailor
