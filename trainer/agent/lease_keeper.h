// LeaseKeeper: renews the lease of the agent's generation: it asks the operator repeatedly, on a thread of its own,
// whether that generation may continue to train.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/protocol/assignment.h"
#include "trainer/elastic/protocol/lease.h"

namespace sailor::trainer {

class LeaseKeeper {
 public:
  // `on_renewal` is called on the keeper's thread.
  explicit LeaseKeeper(std::function<void(const Lease&)> on_renewal);
  ~LeaseKeeper();  // a question that is under way takes kCallbackTimeout at most
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  void keep(const Assignment& assignment);      // from now on the lease of this one, if it needs one
  void ask_there(const std::string& callback);  // the operator has another address

 private:
  struct Terms {
    std::string callback;
    JobKey job;
    std::string job_uid;
    std::int64_t generation = 0;
    std::chrono::seconds length{0};  // 0: the generation needs no lease
  };
  void work();
  bool ask(const Terms& terms) const;

  std::function<void(const Lease&)> on_renewal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Terms terms_;
  bool has_news_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace sailor::trainer
