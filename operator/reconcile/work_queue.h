// WorkQueue: the jobs that wait to be reconciled. A key is in the queue at most once. Only one thread at a time works
// on a key: from take() until done().
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
  // The queue calls `waited` with the number of seconds that a key was in the queue.
  explicit WorkQueue(std::function<void(double)> waited = [](double) {}) : waited_(std::move(waited)) {}

  void add(const JobKey& key);
  void add_after(const JobKey& key, std::chrono::milliseconds delay);  // of two delays, the earlier end counts
  void retry(const JobKey& key);   // adds the key after its back-off: 5 ms, doubling up to a minute
  void forget(const JobKey& key);  // resets the back-off of the key

  std::optional<JobKey> take(std::stop_token stop);  // waits for a key; returns nothing after a stop
  void done(const JobKey& key);  // call it once for each key taken; queues the key again if it was added meanwhile

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
  std::map<JobKey, Instant> queued_;   // the keys in ready_, with the time of their addition
  std::map<JobKey, Instant> delayed_;  // the keys to add later, with the time when they are due
  std::map<JobKey, int> failures_;
  std::set<JobKey> working_;
  std::set<JobKey> again_;  // the keys that were added while a thread worked on them
  QueueStatistics statistics_;
};

}  // namespace sailor
