// What a worker tells its agent, as one line of JSON.
#pragma once

#include <optional>
#include <string>

#include "planner/model/agent_report.h"

namespace sailor::trainer {

struct WorkerMessage {
  WorkerReport worker;
  std::optional<JobProgress> progress;
};

std::string to_line(const WorkerMessage& message);
Result<WorkerMessage> worker_message_from_line(const std::string& line);

}  // namespace sailor::trainer
