#include "operator/agents/agent_client.h"

#include "core/protocol/endpoints.h"
#include "core/protocol/hint.h"
#include "core/protocol/limits.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

// A success carries a report, and so does the refusal of an agent that obeys a newer generation.
std::optional<AgentReport> report_of(const Result<net::HttpResponse>& response) {
  if (!response || (response->status != 200 && response->status != kStatusConflict)) return std::nullopt;
  auto report = read_message(response->body, "an agent's report").and_then(agent_report_from_json);
  return report ? std::optional(*std::move(report)) : std::nullopt;
}

net::HttpRequest put(std::string_view path, const nlohmann::json& message) {
  return {
      .method = "PUT", .target = std::string(path), .body = write_message(message), .content_type = "application/json"};
}

}  // namespace

AgentClient::AgentClient(const std::string& host, int port, std::chrono::milliseconds timeout)
    : client_(net::http_url(host, port),
              {.timeout = timeout, .largest_request = kLargestAssignment, .largest_response = kLargestReport}) {}

void AgentClient::exchange(const net::HttpRequest& request, ReportSink sink) {
  client_.send_async(request, [sink = std::move(sink)](const auto& response) { sink(report_of(response)); });
}

void AgentClient::poll(ReportSink sink) { exchange({.target = std::string(kStatePath)}, std::move(sink)); }

void AgentClient::update_callback(const std::string& callback, ReportSink sink) {
  exchange(put(kCallbackPath, to_json(CallbackAddress{callback})), std::move(sink));
}

void AgentClient::claim(const FolderClaim& claim, ReportSink sink) {
  exchange(put(kClaimPath, to_json(claim)), std::move(sink));
}

void AgentClient::assign(const Assignment& assignment, ReportSink sink) {
  exchange(put(kAssignmentPath, to_json(assignment)), std::move(sink));
}

}  // namespace sailor
