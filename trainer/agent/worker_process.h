// WorkerProcess: the agent's handle on one worker, which is a child process. It sends assignments and leases, receives
// reports, and probes the worker with pings. The worker dies with its agent, however the agent ends.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"
#include "trainer/agent/missed_probes.h"
#include "trainer/agent/periodic_task.h"
#include "trainer/elastic/protocol/lease.h"
#include "trainer/process/child_process.h"

namespace sailor::trainer {

// The reader thread of the WorkerProcess calls these functions.
struct WorkerEvents {
  std::function<void(const WorkerReport&, const std::optional<JobProgress>&)> on_report;
  // Exactly one of these two is called, once, after the last report.
  std::function<void(const std::string& how)> on_end;  // `how`: "was killed by signal 9"
  std::function<void()> on_unresponsive;               // the worker did not answer, so it was killed
};

class WorkerProcess {
 public:
  // The calling thread must live as long as the agent, because the kernel kills the child when that thread ends. The
  // worker is killed if it does not answer pings within the timeout. Pings start after its first message, because a
  // worker may need long to start.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program, std::vector<std::string> arguments,
                                                      std::chrono::milliseconds timeout, WorkerEvents events);
  ~WorkerProcess();  // kills the process and waits for it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void assign(const Assignment& assignment);
  void renew(const Lease& lease);

 private:
  WorkerProcess(std::unique_ptr<ChildProcess> child, std::chrono::milliseconds timeout, WorkerEvents events);
  void probe();
  bool is_unresponsive();
  void read_reports();
  void take(const std::string& line);

  std::unique_ptr<ChildProcess> child_;
  WorkerEvents events_;
  std::mutex mutex_;  // guards the next two
  bool has_spoken_ = false;
  MissedProbes missed_probes_;
  std::thread reader_;
  PeriodicTask probing_;  // the last member, because it uses the others
};

}  // namespace sailor::trainer
