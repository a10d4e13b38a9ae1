#include "operator/reconcile/work_queue.h"

#include <algorithm>
#include <utility>

namespace sailor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstRetry{5};
constexpr milliseconds kLastRetry = std::chrono::minutes(1);
constexpr int kMostUrgentInARow = 4;
constexpr milliseconds kLongestDelay = std::chrono::hours(24);  // a later deadline is only looked at again meanwhile

milliseconds retry_delay(int failures) {
  return failures > 13 ? kLastRetry : std::min(kLastRetry, kFirstRetry * (1 << failures));
}

}  // namespace

void WorkQueue::push(const JobKey& key, Lane lane) {
  ++statistics_.adds;
  if (working_.contains(key)) {
    const auto [entry, is_new] = again_.emplace(key, lane);
    if (!is_new) entry->second = std::min(entry->second, lane);
    return;
  }
  const auto [entry, is_new] = queued_.emplace(key, Entry{steady_clock::now(), lane});
  const bool moves_up = !is_new && lane < entry->second.lane;
  if (moves_up) std::erase(routine_, key);
  if (is_new || moves_up) (lane == Lane::kUrgent ? urgent_ : routine_).push_back(key);
  entry->second.lane = std::min(entry->second.lane, lane);
  changed_.notify_one();
}

void WorkQueue::add(const JobKey& key, Lane lane) {
  const std::scoped_lock lock(mutex_);
  push(key, lane);
}

void WorkQueue::add_after(const JobKey& key, milliseconds delay, Lane lane) {
  const std::scoped_lock lock(mutex_);
  const Entry wanted{steady_clock::now() + std::min(delay, kLongestDelay), lane};
  const auto [entry, is_new] = delayed_.emplace(key, wanted);
  if (!is_new) entry->second = {std::min(entry->second.time, wanted.time), std::min(entry->second.lane, lane)};
  changed_.notify_one();
}

void WorkQueue::retry(const JobKey& key, milliseconds at_least) {
  milliseconds delay{0};
  {
    const std::scoped_lock lock(mutex_);
    ++statistics_.retries;
    delay = retry_delay(failures_[key]++);
  }
  add_after(key, std::max(delay, at_least));
}

void WorkQueue::forget(const JobKey& key) {
  const std::scoped_lock lock(mutex_);
  failures_.erase(key);
}

void WorkQueue::push_due(Instant now) {
  for (auto entry = delayed_.begin(); entry != delayed_.end();) {
    if (entry->second.time > now) {
      ++entry;
      continue;
    }
    push(entry->first, entry->second.lane);
    entry = delayed_.erase(entry);
  }
}

std::optional<WorkQueue::Instant> WorkQueue::next_due() const {
  const auto first = std::ranges::min_element(delayed_, {}, [](const auto& entry) { return entry.second.time; });
  return first == delayed_.end() ? std::nullopt : std::optional(first->second.time);
}

// Returns the lane whose first key is next. Both may be empty.
std::deque<JobKey>& WorkQueue::next_lane() {
  const bool is_routine = urgent_.empty() || (!routine_.empty() && urgent_in_a_row_ >= kMostUrgentInARow);
  urgent_in_a_row_ = is_routine || routine_.empty() ? 0 : urgent_in_a_row_ + 1;
  return is_routine ? routine_ : urgent_;
}

std::optional<JobKey> WorkQueue::take(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Instant now = steady_clock::now();
    push_due(now);
    if (std::deque<JobKey>& lane = next_lane(); !lane.empty()) {
      JobKey key = std::move(lane.front());
      lane.pop_front();
      waited_(std::chrono::duration<double>(now - queued_.at(key).time).count());
      queued_.erase(key);
      working_.insert(key);
      return key;
    }
    const auto due = next_due();
    const Instant until = due.value_or(now + std::chrono::hours(1));
    changed_.wait_until(lock, stop, until, [this, due] { return !queued_.empty() || next_due() != due; });
  }
  return std::nullopt;
}

void WorkQueue::done(const JobKey& key) {
  const std::scoped_lock lock(mutex_);
  working_.erase(key);
  if (const auto again = again_.extract(key)) push(key, again.mapped());
}

std::size_t WorkQueue::depth() const {
  const std::scoped_lock lock(mutex_);
  return queued_.size();
}

QueueStatistics WorkQueue::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

}  // namespace sailor
