// WorkerProcess: one worker as a child process of its agent. It dies with its agent, however the agent ends.
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

// Called on the reader thread of the WorkerProcess.
struct WorkerEvents {
  std::function<void(const WorkerReport&, const std::optional<JobProgress>&)> on_report;
  // One of these two is called once, after the last report.
  std::function<void(const std::string& how)> on_end;  // "was killed by signal 9"
  std::function<void()> on_unresponsive;               // the worker did not answer, so it was ended
};

class WorkerProcess {
 public:
  // The calling thread must live as long as the agent, because the kernel kills the child when that thread ends. A
  // process that has reported once and then does not answer within the timeout is ended.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program, std::vector<std::string> arguments,
                                                      std::chrono::milliseconds timeout, WorkerEvents events);
  ~WorkerProcess();  // ends the process and waits for it
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
