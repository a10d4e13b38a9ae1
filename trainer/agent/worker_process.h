// WorkerProcess: one worker as a child process of its agent. It dies with its agent, whatever way that ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "planner/model/agent_report.h"
#include "planner/model/assignment.h"
#include "trainer/agent/child_process.h"
#include "trainer/elastic/protocol/lease.h"

namespace sailor::trainer {

struct WorkerEvents {  // called on the process's own reader thread
  std::function<void(const WorkerReport&, const std::optional<JobProgress>&)> on_report;
  std::function<void(const std::string& how)> on_end;  // "was killed by signal 9"; once, after the last report
};

class WorkerProcess {
 public:
  // To be called on a thread that lives as long as the agent: the kernel kills the child when that thread ends.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program, std::vector<std::string> arguments,
                                                      WorkerEvents events);
  ~WorkerProcess();  // ends the process and waits for it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void assign(const Assignment& assignment);
  void renew(const Lease& lease);

 private:
  WorkerProcess(std::unique_ptr<ChildProcess> child, WorkerEvents events);
  void read_reports();

  std::unique_ptr<ChildProcess> child_;
  WorkerEvents events_;
  std::thread reader_;
};

}  // namespace sailor::trainer
