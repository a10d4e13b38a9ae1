#include "operator/agents/agent_client.h"

#include <fmt/format.h>

#include "core/model/cut_text.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/hint.h"
#include "core/protocol/limits.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

constexpr std::size_t kLongestRefusal = 300;  // leaves room in the message of a condition

std::string refusal_in(const net::HttpResponse& response) {
  const auto message = read_message(response.body, "an agent's refusal");
  const bool has_words = message && message->contains("error") && message->at("error").is_string();
  if (!has_words) return fmt::format("HTTP status {}", response.status);
  std::string words = cut_text(message->at("error").get<std::string>(), kLongestRefusal);
  while (words.ends_with('.')) words.pop_back();
  return words.empty() ? "it gives no reason" : words;
}

// A success carries a report, and so does the refusal of an agent that obeys a newer generation.
AgentAnswer answer_in(const Result<net::HttpResponse>& response) {
  if (!response) return {};
  const bool is_refusal = response->status >= 400 && response->status < 500 && response->status != kStatusConflict;
  if (is_refusal) return {std::nullopt, refusal_in(*response)};
  if (response->status != 200 && response->status != kStatusConflict) return {};
  auto report = read_message(response->body, "an agent's report").and_then(agent_report_from_json);
  return {report ? std::optional(*std::move(report)) : std::nullopt, ""};
}

net::HttpRequest put(std::string_view path, const nlohmann::json& message) {
  return {
      .method = "PUT", .target = std::string(path), .body = write_message(message), .content_type = "application/json"};
}

}  // namespace

AgentClient::AgentClient(const std::string& host, int port, std::chrono::milliseconds timeout)
    : client_(net::http_url(host, port),
              {.timeout = timeout, .largest_request = kLargestAssignment, .largest_response = kLargestReport}) {}

void AgentClient::exchange(const net::HttpRequest& request, AnswerSink sink) {
  client_.send_async(request, [sink = std::move(sink)](const auto& response) { sink(answer_in(response)); });
}

void AgentClient::poll(AnswerSink sink) { exchange({.target = std::string(kStatePath)}, std::move(sink)); }

void AgentClient::update_callback(const std::string& callback, AnswerSink sink) {
  exchange(put(kCallbackPath, to_json(CallbackAddress{callback})), std::move(sink));
}

void AgentClient::claim(const FolderClaim& claim, AnswerSink sink) {
  exchange(put(kClaimPath, to_json(claim)), std::move(sink));
}

void AgentClient::assign(const Assignment& assignment, AnswerSink sink) {
  exchange(put(kAssignmentPath, to_json(assignment)), std::move(sink));
}

}  // namespace sailor
