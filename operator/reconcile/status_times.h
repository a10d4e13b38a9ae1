// StatusTimes: remembers when this operator last wrote the status of each job, or first looked at the job.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/model/ids.h"
#include "operator/kube/time.h"

namespace sailor {

// Any thread may call the functions.
class StatusTimes {
 public:
  void note(const JobKey& job, const std::string& uid, MonotonicTime now) {
    const std::scoped_lock lock(mutex_);
    times_[job] = {uid, now};
  }
  // Returns for how long the status is as it is, as far as this operator knows.
  [[nodiscard]] std::chrono::milliseconds age(const JobKey& job, const std::string& uid, MonotonicTime now) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = times_[job];
    if (entry.uid != uid) entry = {uid, now};
    return now - entry.at;
  }
  void forget(const JobKey& job) {
    const std::scoped_lock lock(mutex_);
    times_.erase(job);
  }

 private:
  struct Entry {
    std::string uid;  // of the job
    MonotonicTime at{};
  };
  std::mutex mutex_;
  std::map<JobKey, Entry> times_;
};

}  // namespace sailor
