// LeaseKeeper: asks the operator, again and again, whether the agent's generation may train on, on a thread of its own.
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
  ~LeaseKeeper();  // a question that is under way takes a few seconds at most
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  void keep(const Assignment& assignment);      // that one's from now on; none if it needs none
  void ask_there(const std::string& callback);  // the operator has another address

 private:
  struct Terms {
    std::string callback;
    JobKey job;
    std::string job_uid;
    std::int64_t generation = 0;
    std::chrono::seconds length{0};  // 0: there is nothing to be asked for
  };
  void work();
  bool ask(const Terms& terms) const;

  std::function<void(const Lease&)> on_renewal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Terms terms_;
  bool has_news_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // the last to begin: it uses the others
};

}  // namespace sailor::trainer
