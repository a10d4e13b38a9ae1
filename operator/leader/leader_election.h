// LeaderElection: makes sure that only one operator at a time writes to the API server, by means of a Lease object.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "operator/kube/api.h"
#include "operator/kube/time.h"

namespace sailor {

struct LeaseSettings {
  std::string namespace_name;
  std::string name = "sailor-operator";
  std::string identity;  // names this process; no other process has the same identity
  // The pod of this process, with which its identity begins; empty: this process runs outside of a pod. Another holder
  // of this pod is an earlier process of the same container, which has ended: its lease need not expire.
  std::string pod;
  std::chrono::milliseconds duration{15000};        // the lease of another operator expires after this time
  std::chrono::milliseconds renew_deadline{10000};  // an operator that could not renew for this long stops leading
  std::chrono::milliseconds retry{2000};            // the time between two attempts to take the lease, plus up to 20%
};

// This process decides by its own monotonic clock whether the lease of another operator has expired: the duration
// counts from the moment when this process saw the last change of the lease. The clocks of two machines are never
// compared.
class LeaderElection {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  struct Clocks {
    Clock wall = system_time;
    std::function<Instant()> monotonic = [] { return std::chrono::steady_clock::now(); };
  };

  LeaderElection(kube::Api& api, LeaseSettings settings) : LeaderElection(api, std::move(settings), Clocks()) {}
  LeaderElection(kube::Api& api, LeaseSettings settings, Clocks clocks);

  // Tries to take the lease until it succeeds. Returns false if a stop is requested first.
  bool acquire(std::stop_token stop);
  void release();   // gives the lease up, so that the next leader does not wait until it expires
  bool try_once();  // takes or renews the lease; returns whether it succeeded

  // Returns whether this process leads. Ask before each write, so that a process that was paused for long does not
  // write after its lease has expired.
  [[nodiscard]] bool may_write() const;

 private:
  bool is_of_earlier_process(const std::string& holder) const;
  bool write(const kube::Json& lease, bool is_mine);
  bool create();
  kube::Json spec_of(const kube::Json& before, bool is_mine) const;

  kube::Api& api_;
  LeaseSettings settings_;
  Clocks clocks_;
  std::string seen_version_;
  Instant seen_at_;
  std::atomic<Instant> leads_until_{Instant::min()};
};

}  // namespace sailor
