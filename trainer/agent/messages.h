// What an agent and its worker tell each other, each as one line of JSON. Besides these an agent sends assignments.
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
std::optional<Lease> lease_from(const nlohmann::json& line);  // nothing: it is something else

// Asked of a worker's reader thread, which sends the line back.
std::string ping_line();
bool is_ping(const nlohmann::json& line);

std::string to_line(const WorkerMessage& message);
Result<WorkerMessage> worker_message_from(const nlohmann::json& line);

}  // namespace sailor::trainer
