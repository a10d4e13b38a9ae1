// LeaderElection: one operator writes at a time, agreed on by a Lease.
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
  std::string space;
  std::string name = "sailor-operator";
  std::string identity;  // of this process, unlike any other's
  std::chrono::milliseconds duration{15000};
  std::chrono::milliseconds renew_deadline{10000};  // without a renewal for this long we are not the leader any more
  std::chrono::milliseconds retry{2000};
};

// Others' leases expire by our own monotonic clock, counted from when we saw them change: no two clocks are compared.
class LeaderElection {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  struct Clocks {
    Clock wall = system_time;
    std::function<Instant()> monotonic = [] { return std::chrono::steady_clock::now(); };
  };

  LeaderElection(kube::Api& api, LeaseSettings settings) : LeaderElection(api, std::move(settings), Clocks()) {}
  LeaderElection(kube::Api& api, LeaseSettings settings, Clocks clocks);

  // Tries until it leads (true) or is stopped (false).
  bool acquire(std::stop_token stop);
  void release();   // so that another one need not wait for the lease to expire
  bool try_once();  // takes or renews the lease

  // Asked before every write: also a process that was paused for long finds out here.
  [[nodiscard]] bool may_write() const;

 private:
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
