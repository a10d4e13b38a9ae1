// The requests that agents are sent, without waiting for their answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"

namespace sailor {

// Nothing: there was no answer, or one that is no report.
using ReportSink = std::function<void(std::optional<AgentReport>)>;

class AgentHttp {
 public:
  AgentHttp(const std::string& host, int port, std::chrono::milliseconds timeout);
  ~AgentHttp();
  AgentHttp(const AgentHttp&) = delete;
  AgentHttp& operator=(const AgentHttp&) = delete;

  void state(ReportSink sink);
  void update_callback(const std::string& callback, ReportSink sink);
  void assign(const Assignment& assignment, ReportSink sink);  // a refused one has no report but its state next poll

 private:
  struct Client;
  std::unique_ptr<Client> client_;
};

}  // namespace sailor
