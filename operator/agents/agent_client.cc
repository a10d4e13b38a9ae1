#include "operator/agents/agent_client.h"

#include <fmt/format.h>

#include "core/model/cut_text.h"
#include "core/protocol/credentials.h"
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
  if (!response) {
    const bool is_untrusted = response.error().code == ErrorCode::kForbidden;
    return {std::nullopt, "", is_untrusted ? cut_text(response.error().message, kLongestRefusal) : ""};
  }
  const bool is_refusal = response->status >= 400 && response->status < 500 && response->status != kStatusConflict;
  if (is_refusal) return {std::nullopt, refusal_in(*response), ""};
  if (response->status != 200 && response->status != kStatusConflict) return {};
  auto report = read_message(response->body, "an agent's report").and_then(agent_report_from_json);
  return {report ? std::optional(*std::move(report)) : std::nullopt, "", ""};
}

net::HttpRequest put(std::string_view path, const nlohmann::json& message) {
  return {
      .method = "PUT", .target = std::string(path), .body = write_message(message), .content_type = "application/json"};
}

}  // namespace

AgentClient::AgentClient(AgentPlace place, std::chrono::milliseconds timeout, OperatorIdentity identity)
    : place_(std::move(place)), timeout_(timeout), identity_(std::move(identity)) {}

std::shared_ptr<const net::HttpClient> AgentClient::client() {
  auto identity = identity_ ? identity_() : nullptr;
  const std::lock_guard lock(mutex_);
  if (client_ != nullptr && identity == used_) return client_;
  net::HttpClientSettings settings{
      .timeout = timeout_, .largest_request = kLargestAssignment, .largest_response = kLargestReport};
  if (identity != nullptr) {
    settings.tls = *identity;
    settings.tls->server_uri = job_uri(place_.job);
  }
  const auto url = identity == nullptr ? net::http_url : net::https_url;
  used_ = std::move(identity);
  client_ = std::make_shared<const net::HttpClient>(url(place_.host, place_.port), std::move(settings));
  return client_;
}

void AgentClient::exchange(const net::HttpRequest& request, AnswerSink sink) {
  client()->send_async(request, [sink = std::move(sink)](const auto& response) { sink(answer_in(response)); });
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
