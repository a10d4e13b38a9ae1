// WorkQueue: the jobs that are to be reconciled. A key is queued once, and never handed out twice at the same time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>

#include "core/model/ids.h"

namespace sailor {

struct QueueStatistics {
  long adds = 0;
  long retries = 0;
};

class WorkQueue {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  // `waited` receives the seconds that a key has waited for its turn.
  explicit WorkQueue(std::function<void(double)> waited = [](double) {}) : waited_(std::move(waited)) {}

  void add(const JobKey& key);
  void add_after(const JobKey& key, std::chrono::milliseconds delay);  // the earlier of two delays counts
  void retry(const JobKey& key);   // after this key's back-off: 5 ms, doubling up to a minute
  void forget(const JobKey& key);  // resets its back-off

  std::optional<JobKey> take(std::stop_token stop);  // waits for a key; empty after a stop
  void done(const JobKey& key);                      // a key that was added meanwhile is queued again

  [[nodiscard]] std::size_t depth() const;
  [[nodiscard]] QueueStatistics statistics() const;

 private:
  void push(const JobKey& key);
  void push_due(Instant now);
  std::optional<Instant> next_due() const;

  std::function<void(double)> waited_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<JobKey> ready_;
  std::map<JobKey, Instant> queued_;   // since when; all that is in ready_
  std::map<JobKey, Instant> delayed_;  // until when
  std::map<JobKey, int> failures_;
  std::set<JobKey> working_;
  std::set<JobKey> again_;  // added while being worked on
  QueueStatistics statistics_;
};

}  // namespace sailor
