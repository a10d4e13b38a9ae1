// Reporter: receives the status reports of a worker. In a worker process it sends them to the agent
// (agent/worker_main.cc). Tests have other implementations.
#pragma once

#include <optional>

#include "core/protocol/agent_report.h"

namespace sailor::trainer {

class Reporter {
 public:
  Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  virtual ~Reporter() = default;

  // Only the worker of rank 0 reports `progress`.
  virtual void report(const WorkerReport& worker, const std::optional<JobProgress>& progress) = 0;
};

}  // namespace sailor::trainer
