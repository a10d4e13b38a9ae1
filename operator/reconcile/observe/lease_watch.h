// LeaseWatch: remembers since when this operator knows that the leases of older generations are not renewed, neither by
// operators nor by a claim of the checkpoint folder. Another operator's clock says nothing about it, so each operator
// counts for itself.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "operator/kube/time.h"
#include "operator/model/record.h"

namespace sailor {

// Any thread may call the functions.
class LeaseWatch {
 public:
  using Durations = std::map<std::int64_t, std::chrono::milliseconds>;  // by the number of the older generation
  struct Known {
    Durations unrenewed;
    Durations claimed;
  };

  // Continues with this record, and with the older generations of which agents of the job have superseded the claim.
  // The claim of one generation says nothing about that of another, which its pod may hold as well. Forgets the leases
  // that are not in the record.
  Known update(const JobKey& job, const GenerationRecord& record, const std::set<std::int64_t>& superseded,
               MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    const Key key{job, record.job_uid};
    const Leases& before = leases_[key];
    Leases leases;
    for (const OlderRecord& older : record.older) {
      if (!older.is_unrenewed) continue;
      const auto found = before.find(older.generation);
      Lease lease = found == before.end() ? Lease{now, std::nullopt} : found->second;
      if (!lease.claimed && superseded.contains(older.generation)) lease.claimed = now;
      leases.emplace(older.generation, lease);
    }
    const Known known = durations(leases, now);
    if (leases.empty()) {
      leases_.erase(key);
    } else {
      leases_[key] = std::move(leases);
    }
    return known;
  }

 private:
  struct Lease {
    MonotonicTime unrenewed;
    std::optional<MonotonicTime> claimed;
  };
  using Leases = std::map<std::int64_t, Lease>;  // by the number of the older generation
  using Key = std::pair<JobKey, std::string>;    // with the UID of the job

  static Known durations(const Leases& leases, MonotonicTime now) {
    Known known;
    for (const auto& [generation, lease] : leases) {
      known.unrenewed[generation] = std::chrono::duration_cast<std::chrono::milliseconds>(now - lease.unrenewed);
      if (!lease.claimed) continue;
      known.claimed[generation] = std::chrono::duration_cast<std::chrono::milliseconds>(now - *lease.claimed);
    }
    return known;
  }

  std::mutex mutex_;
  std::map<Key, Leases> leases_;
};

}  // namespace sailor
