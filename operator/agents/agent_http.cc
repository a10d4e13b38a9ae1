#include "operator/agents/agent_http.h"

#include <cpprest/http_client.h>
#include <fmt/format.h>

#include "core/protocol/endpoints.h"
#include "core/protocol/hint.h"
#include "core/protocol/limits.h"

namespace sailor {
namespace {

namespace http = web::http;

http::client::http_client_config config(std::chrono::milliseconds timeout) {
  http::client::http_client_config config;
  config.set_timeout(timeout);
  return config;
}

std::string url(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("http://[{}]:{}", host, port) : fmt::format("http://{}:{}", host, port);
}

std::optional<AgentReport> report_from(const std::string& body) {
  if (body.size() > kLargestReport) return std::nullopt;
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  auto report = agent_report_from_json(json);
  return report ? std::optional(std::move(*report)) : std::nullopt;
}

// 200, and 409 ("I know a generation as new"), carry a report.
bool carries_report(http::status_code status) {
  return status == http::status_codes::OK || status == http::status_codes::Conflict;
}

}  // namespace

struct AgentHttp::Client {
  Client(const std::string& host, int port, std::chrono::milliseconds timeout)
      : http(std::make_shared<http::client::http_client>(url(host, port), config(timeout))) {}

  // The client lives as long as the request; no continuation waits.
  void exchange(http::http_request request, ReportSink sink) const {
    http->request(request)
        .then([](const http::http_response& response) {
          const bool is_report = carries_report(response.status_code());
          return response.extract_utf8string(true).then(
              [is_report](const std::string& body) { return is_report ? body : ""; });
        })
        .then([keep = http, sink = std::move(sink)](const pplx::task<std::string>& body) {
          std::optional<AgentReport> report;
          try {
            report = report_from(body.get());
          } catch (const std::exception&) {
            report.reset();  // no answer, and that is what the sink is told
          }
          sink(std::move(report));
        });
  }

  std::shared_ptr<http::client::http_client> http;
};

AgentHttp::AgentHttp(const std::string& host, int port, std::chrono::milliseconds timeout)
    : client_(std::make_unique<Client>(host, port, timeout)) {}

AgentHttp::~AgentHttp() = default;

void AgentHttp::state(ReportSink sink) {
  http::http_request request(http::methods::GET);
  request.set_request_uri(std::string(kStatePath));
  client_->exchange(request, std::move(sink));
}

void AgentHttp::update_callback(const std::string& callback, ReportSink sink) {
  http::http_request request(http::methods::PUT);
  request.set_request_uri(std::string(kCallbackPath));
  request.set_body(to_json(CallbackAddress{callback}).dump(), "application/json");
  client_->exchange(request, std::move(sink));
}

void AgentHttp::assign(const Assignment& assignment, ReportSink sink) {
  http::http_request request(http::methods::PUT);
  request.set_request_uri(std::string(kAssignmentPath));
  request.set_body(to_json(assignment).dump(), "application/json");
  client_->exchange(request, std::move(sink));
}

}  // namespace sailor
