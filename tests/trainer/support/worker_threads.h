// WorkerThreads: real workers over real Gloo, each a thread of the test: many plans in little time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "planner/model/agent_report.h"
#include "planner/model/assignment.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/elastic/inbox.h"

namespace sailor::trainer::testing {

class WorkerThreads {
 public:
  explicit WorkerThreads(int count);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  [[nodiscard]] std::vector<AgentAddress> agents() const;  // one a worker
  void assign(const Assignment& assignment);               // to all of them
  void join();                                             // until each has finished, failed or been released

  // What was reported.
  [[nodiscard]] std::map<std::int64_t, double> losses() const;  // by step
  [[nodiscard]] WorkerReport last(int worker) const;
  [[nodiscard]] JobProgress progress() const;
  void wait_until(int worker, const std::function<bool(const WorkerReport&)>& is_so) const;

 private:
  struct Collector;
  std::string host_;
  std::unique_ptr<RendezvousHost> store_;
  std::unique_ptr<Collector> collector_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::vector<std::thread> threads_;
};

// The losses of each step when the job runs with this plan from its start to its end.
std::map<std::int64_t, double> losses_of(const Assignment& job, const Plan& plan);

}  // namespace sailor::trainer::testing
