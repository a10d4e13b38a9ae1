// Encodes and decodes the messages between an agent and its workers. Each message is one line of JSON. The agent sends
// leases, pings and assignments (core/protocol/assignment.h encodes the last). A worker sends reports and answers to
// pings.
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
std::optional<Lease> lease_from(const nlohmann::json& line);  // returns nothing if the line is not a lease

// The agent sends a ping as a probe. The worker's reader thread sends the same line back.
std::string ping_line();
bool is_ping(const nlohmann::json& line);

std::string to_line(const WorkerMessage& message);
Result<WorkerMessage> worker_message_from(const nlohmann::json& line);

}  // namespace sailor::trainer
