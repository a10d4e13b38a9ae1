// Reporter: where a worker's news go: the agent, or a test.
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

  // `progress` comes with the worker of rank 0 only.
  virtual void report(const WorkerReport& worker, const std::optional<JobProgress>& progress) = 0;
};

}  // namespace sailor::trainer
