// JobTimes: remembers a time of each job, as this operator knows it. One that starts knows none.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/model/ids.h"
#include "operator/kube/time.h"

namespace sailor {

// Any thread may call the functions.
template <class Instant>
class JobTimes {
 public:
  // `uid` is that of the job: another job of the name has another time.
  void note(const JobKey& job, const std::string& uid, Instant time) {
    const std::scoped_lock lock(mutex_);
    times_[job] = {uid, time};
  }
  [[nodiscard]] std::optional<Instant> find(const JobKey& job, const std::string& uid) const {
    const std::scoped_lock lock(mutex_);
    const auto found = times_.find(job);
    return found != times_.end() && found->second.uid == uid ? std::optional(found->second.time) : std::nullopt;
  }
  // Returns the time, after it has noted this one if there was none.
  Instant find_or_note(const JobKey& job, const std::string& uid, Instant time) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = times_[job];
    if (entry.uid != uid) entry = {uid, time};
    return entry.time;
  }
  void forget(const JobKey& job) {
    const std::scoped_lock lock(mutex_);
    times_.erase(job);
  }

 private:
  struct Entry {
    std::string uid;
    Instant time{};
  };
  mutable std::mutex mutex_;
  std::map<JobKey, Entry> times_;
};

using SecuredJobs = JobTimes<Time>;           // when this operator wrote their credentials last
using StatusTimes = JobTimes<MonotonicTime>;  // when this operator wrote their status last, or first looked at the job

}  // namespace sailor
