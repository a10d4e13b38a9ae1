// The messages between an agent and its workers, each one line of JSON. The agent also sends assignments.
#pragma once

#include <optional>
#include <string>

#include "core/protocol/agent_report.h"
#include "trainer/elastic/protocol/lease.h"

namespace sailor::trainer {

struct WorkerMessage {
  WorkerReport worker;
  std::optional<JobProgress> progress;
};

std::string to_line(const Lease& lease);
std::optional<Lease> lease_from(const nlohmann::json& line);  // nothing: the line is another message

// The agent sends it as a probe; the worker's reader thread sends the same line back.
std::string ping_line();
bool is_ping(const nlohmann::json& line);

std::string to_line(const WorkerMessage& message);
Result<WorkerMessage> worker_message_from(const nlohmann::json& line);

}  // namespace sailor::trainer
