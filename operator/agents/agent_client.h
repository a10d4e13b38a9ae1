// AgentClient: sends the operator's requests to one agent. No function waits for the answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
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
  std::string tls_fault = {};         // why one side does not accept the certificate of the other; empty: both do
};
using AnswerSink = std::function<void(AgentAnswer)>;

// Where an agent serves, and of which job it must be.
struct AgentPlace {
  JobKey job;
  std::string host;
  int port = 0;
};

using OperatorIdentity = std::function<std::shared_ptr<const net::TlsSettings>()>;

// Any thread may call the functions.
class AgentClient {
 public:
  // `identity` returns who the operator is, as CredentialIssuer::own() does; empty: the agents of a test, which speak
  // HTTP.
  AgentClient(AgentPlace place, std::chrono::milliseconds timeout, OperatorIdentity identity);

  void poll(AnswerSink sink);
  void claim(const FolderClaim& claim, AnswerSink sink);
  void update_callback(const std::string& callback, AnswerSink sink);
  // A refusal carries a report only if the agent obeys a newer generation. Otherwise the next poll shows its state.
  void assign(const Assignment& assignment, AnswerSink sink);

 private:
  void exchange(const net::HttpRequest& request, AnswerSink sink);
  std::shared_ptr<const net::HttpClient> client();  // a new one if the identity of the operator has changed

  const AgentPlace place_;
  const std::chrono::milliseconds timeout_;
  const OperatorIdentity identity_;
  std::mutex mutex_;
  std::shared_ptr<const net::TlsSettings> used_;  // the identity of the client
  std::shared_ptr<const net::HttpClient> client_;
};

}  // namespace sailor
