// AgentClient: sends the operator's requests to one agent. No function waits for the answer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/net/http_client.h"
#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"
#include "core/protocol/claim.h"

namespace sailor {

// Receives the report in the agent's answer, or nothing if there was no answer or the answer was not a report.
using ReportSink = std::function<void(std::optional<AgentReport>)>;

class AgentClient {
 public:
  AgentClient(const std::string& host, int port, std::chrono::milliseconds timeout);

  void poll(ReportSink sink);
  void claim(const FolderClaim& claim, ReportSink sink);
  void update_callback(const std::string& callback, ReportSink sink);
  // A refusal carries a report only if the agent obeys a newer generation. Otherwise the next poll shows its state.
  void assign(const Assignment& assignment, ReportSink sink);

 private:
  void exchange(const net::HttpRequest& request, ReportSink sink);

  net::HttpClient client_;
};

}  // namespace sailor
