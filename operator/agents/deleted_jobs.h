// DeletedJobs: the jobs that this operator has seen disappear. An agent of such a job is not needed any more. An agent
// of a job that the operator has never seen may be needed, because the operator may not know all jobs yet.
#pragma once

#include <deque>
#include <mutex>
#include <set>

#include "core/model/ids.h"

namespace sailor {

// Remembers the newest ten thousand jobs, because an agent asks within seconds. Any thread may call the functions.
class DeletedJobs {
 public:
  void add(const JobKey& job) {
    const std::scoped_lock lock(mutex_);
    if (!jobs_.insert(job).second) return;
    order_.push_back(job);
    if (order_.size() <= kMost) return;
    jobs_.erase(order_.front());
    order_.pop_front();
  }
  [[nodiscard]] bool contains(const JobKey& job) const {
    const std::scoped_lock lock(mutex_);
    return jobs_.contains(job);
  }

 private:
  static constexpr std::size_t kMost = 10000;
  mutable std::mutex mutex_;
  std::set<JobKey> jobs_;
  std::deque<JobKey> order_;  // the oldest first
};

}  // namespace sailor
