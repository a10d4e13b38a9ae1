// WorkerProcess: one worker as a child process of its agent. It dies with its agent, whatever way that ends.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"
#include "trainer/agent/pulse.h"
#include "trainer/agent/silence.h"
#include "trainer/elastic/protocol/lease.h"
#include "trainer/process/child_process.h"

namespace sailor::trainer {

struct WorkerEvents {  // called on the process's own reader thread
  std::function<void(const WorkerReport&, const std::optional<JobProgress>&)> on_report;
  // One of these two, once, after the last report.
  std::function<void(const std::string& how)> on_end;  // "was killed by signal 9"
  std::function<void()> on_silence;                    // it gave no answer, and was ended for it
};

class WorkerProcess {
 public:
  // To be called on a thread that lives as long as the agent: the kernel kills the child when that thread ends. A
  // process that has spoken once, and then gives no answer for the time-out, is ended.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program, std::vector<std::string> arguments,
                                                      std::chrono::milliseconds timeout, WorkerEvents events);
  ~WorkerProcess();  // ends the process and waits for it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void assign(const Assignment& assignment);
  void renew(const Lease& lease);

 private:
  WorkerProcess(std::unique_ptr<ChildProcess> child, std::chrono::milliseconds timeout, WorkerEvents events);
  void ask();
  bool is_silent();
  void read_reports();
  void take(const std::string& line);

  std::unique_ptr<ChildProcess> child_;
  WorkerEvents events_;
  std::mutex mutex_;  // of these two
  bool has_spoken_ = false;
  Silence silence_;
  std::thread reader_;
  Pulse questions_;  // the last to begin: it uses the others
};

}  // namespace sailor::trainer
