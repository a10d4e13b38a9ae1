// LeaderElection: lets one operator at a time write, by a Lease in the API server.
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
  std::string identity;  // of this process; no other process has it
  std::chrono::milliseconds duration{15000};
  std::chrono::milliseconds renew_deadline{10000};  // an operator that could not renew for this long stops to lead
  std::chrono::milliseconds retry{2000};
};

// The lease of another operator expires by the monotonic clock of this process, counted from when its last change was
// seen. So the clocks of two machines are never compared.
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
  void release();   // so that the next leader does not have to wait for the lease to expire
  bool try_once();  // takes or renews the lease

  // Asked before every write, so that a process that was paused for long also stops to write.
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
