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

// What an agent answered.
struct AgentAnswer {
  std::optional<AgentReport> report;  // empty: there was no answer, or it was not a report
  std::string refusal;                // why the agent refused the request, in its own words; empty: it did not
};
using AnswerSink = std::function<void(AgentAnswer)>;

class AgentClient {
 public:
  AgentClient(const std::string& host, int port, std::chrono::milliseconds timeout);

  void poll(AnswerSink sink);
  void claim(const FolderClaim& claim, AnswerSink sink);
  void update_callback(const std::string& callback, AnswerSink sink);
  // A refusal carries a report only if the agent obeys a newer generation. Otherwise the next poll shows its state.
  void assign(const Assignment& assignment, AnswerSink sink);

 private:
  void exchange(const net::HttpRequest& request, AnswerSink sink);

  net::HttpClient client_;
};

}  // namespace sailor
