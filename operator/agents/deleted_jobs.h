// DeletedJobs: the jobs that this operator has seen disappear. An agent of such a job is not needed any more. An agent
// of a job that the operator has never seen may be needed, because the operator may not know all jobs yet.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/model/ids.h"

namespace sailor {

// Remembers the newest ten thousand jobs, because an agent asks within seconds. Any thread may call the functions.
class DeletedJobs {
 public:
  // Notes that this job has the name now. A job that had it before is gone.
  void note(const JobKey& job, const std::string& uid) {
    const std::scoped_lock lock(mutex_);
    std::string& present = present_[job];
    if (!present.empty() && present != uid) add(present);
    present = uid;
  }
  // Notes that no job has the name.
  void note_absence(const JobKey& job) {
    const std::scoped_lock lock(mutex_);
    if (const auto present = present_.extract(job)) add(present.mapped());
  }
  [[nodiscard]] bool contains(const std::string& uid) const {
    const std::scoped_lock lock(mutex_);
    return gone_.contains(uid);
  }

 private:
  static constexpr std::size_t kMost = 10000;

  void add(const std::string& uid) {
    if (!gone_.insert(uid).second) return;
    order_.push_back(uid);
    if (order_.size() <= kMost) return;
    gone_.erase(order_.front());
    order_.pop_front();
  }

  mutable std::mutex mutex_;
  std::map<JobKey, std::string> present_;  // uid by name
  std::set<std::string> gone_;
  std::deque<std::string> order_;  // those in gone_, the oldest first
};

}  // namespace sailor
