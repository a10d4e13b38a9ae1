// WorkQueue: the jobs that wait to be reconciled. A key is in the queue at most once. Only one thread at a time works
// on a key: from take() until done().
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>

#include "core/model/ids.h"

namespace sailor {

// Keys in the urgent lane are taken first: something has happened to the job itself. Keys in the routine lane wait for
// them: the cluster has changed, and the job may do better. One of them is taken after four urgent ones in a row, so
// that they do not wait for ever.
enum class Lane : std::uint8_t { kUrgent, kRoutine };

struct QueueStatistics {
  long adds = 0;
  long retries = 0;
};

class WorkQueue {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  // The queue calls `waited` with the number of seconds that a key was in the queue.
  explicit WorkQueue(std::function<void(double)> waited = [](double) {}) : waited_(std::move(waited)) {}

  void add(const JobKey& key, Lane lane = Lane::kUrgent);
  // Adds the key after the delay, or after a day if that is shorter. If the key is added twice, the earlier time
  // counts, and the urgent lane. Does not block.
  void add_after(const JobKey& key, std::chrono::milliseconds delay, Lane lane = Lane::kUrgent);
  // Adds the key after its back-off: 5 ms, doubling up to a minute, or after `at_least` if that is longer.
  void retry(const JobKey& key, std::chrono::milliseconds at_least = std::chrono::milliseconds(0));
  void forget(const JobKey& key);  // resets the back-off of the key

  std::optional<JobKey> take(std::stop_token stop);  // waits for a key; returns nothing after a stop
  void done(const JobKey& key);  // call it once for each key taken; queues the key again if it was added meanwhile

  [[nodiscard]] std::size_t depth() const;
  [[nodiscard]] QueueStatistics statistics() const;

 private:
  struct Entry {
    Instant time;  // in queued_: of the addition; in delayed_: when the key is due
    Lane lane = Lane::kUrgent;
  };
  void push(const JobKey& key, Lane lane);
  void push_due(Instant now);
  [[nodiscard]] std::deque<JobKey>& next_lane();
  std::optional<Instant> next_due() const;

  std::function<void(double)> waited_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<JobKey> urgent_;
  std::deque<JobKey> routine_;
  int urgent_in_a_row_ = 0;          // taken while a routine key waited
  std::map<JobKey, Entry> queued_;   // the keys of both lanes
  std::map<JobKey, Entry> delayed_;  // the keys to add later
  std::map<JobKey, int> failures_;
  std::set<JobKey> working_;
  std::map<JobKey, Lane> again_;  // the keys that were added while a thread worked on them
  QueueStatistics statistics_;
};

}  // namespace sailor
