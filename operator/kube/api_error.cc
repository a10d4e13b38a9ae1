#include "operator/kube/api_error.h"

#include <fmt/format.h>

#include "core/model/cut_text.h"
#include "operator/kube/object.h"

namespace sailor::kube {
namespace {

constexpr std::size_t kQuoted = 200;  // the number of bytes to quote of a body that is not a Status

std::string path_of(const HttpRequest& request) { return request.target.substr(0, request.target.find('?')); }

std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response, const Json& status) {
  if (response.retry_after) return response.retry_after;
  const std::int64_t seconds = integer_at(status, {"details", "retryAfterSeconds"});
  if (seconds > 0) return std::chrono::seconds(seconds);
  return std::nullopt;
}

}  // namespace

bool ApiError::is_refusal() const {
  if (reason == kNotLeader || status == 401 || status == 409 || status == 429) return false;
  const bool is_webhook_down = status >= 500 && server_message.find("webhook") != std::string::npos;
  return (status >= 400 && status < 500) || is_webhook_down;
}

ApiError error_of(const HttpRequest& request, const HttpResponse& response) {
  const Json status = Json::parse(response.body, nullptr, false);
  const bool is_status = status.is_object() && text_at(status, {"kind"}) == "Status";
  ApiError error;
  error.status = response.status;
  if (is_status) error.reason = text_at(status, {"reason"});
  error.server_message = is_status ? text_at(status, {"message"}) : cut_text(response.body, kQuoted);
  error.message = fmt::format("{} {}: the API server answered {}: {}", request.method, path_of(request),
                              response.status, error.server_message);
  error.retry_after = retry_after(response, is_status ? status : Json::object());
  return error;
}

}  // namespace sailor::kube
