// LeaseKeeper: renews the leases of the agent's generations (core/protocol/lease.h): that of the newest one, and that
// of the one that trains on until the newest one does. On its own thread it asks the operator whether a generation may
// continue to train: kQuestionsPerLease times per lease, and more often while the lease is not renewed. If the operator
// does not answer, the claim of the checkpoint folder decides (core/protocol/claim.h). If the operator refuses, or if a
// newer generation has superseded the claim, the lease lapses and the workers stop applying updates.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/agent/agent_credentials.h"
#include "trainer/elastic/protocol/lease.h"

namespace sailor::trainer {

class LeaseKeeper {
 public:
  // The thread of this object calls `on_renewal` with each renewed lease. `credentials` may be null.
  LeaseKeeper(AgentCredentials* credentials, std::function<void(const Lease&)> on_renewal);
  ~LeaseKeeper();  // waits for a request that is under way, at most kCallbackTimeout
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  void keep(const Assignment& assignment);      // from now on also renews the lease of this generation, if it needs one
  void forget_before(std::int64_t generation);  // no longer renews the leases of older generations than this one
  void set_callback(const std::string& callback);  // URL of the operator for the next questions

 private:
  struct Terms {
    std::string callback;
    JobKey job;
    std::string job_uid;
    std::int64_t generation = 0;
    std::chrono::seconds length{0};
    std::filesystem::path folder;  // of the job's checkpoints; empty: none
  };
  void work();
  bool renew(const Terms& terms);  // returns whether the lease was renewed
  void claim(const Terms& terms);  // claims the folder for the generation, once
  static bool holds_claim(const Terms& terms);

  AgentCredentials* const credentials_;
  std::function<void(const Lease&)> on_renewal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Terms> terms_;        // of each generation that needs a lease, in ascending order
  std::set<std::int64_t> claimed_;  // the generations for which the folder was claimed; only the thread uses it
  bool has_news_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace sailor::trainer
