#include "trainer/agent/post_to_operator.h"

#include <utility>

#include "core/net/http_client.h"
#include "core/protocol/limits.h"
#include "core/protocol/message.h"
#include "core/protocol/timeouts.h"

namespace sailor::trainer {

Result<int> post_to_operator(const std::string& callback, std::string_view path, const nlohmann::json& message,
                             AgentCredentials* credentials) {
  const std::string url = callback.ends_with('/') ? callback.substr(0, callback.size() - 1) : callback;
  net::HttpClientSettings settings{.timeout = kCallbackTimeout, .largest_request = kLargestCallback};
  if (credentials != nullptr) settings.tls = credentials->client_of_operator();
  const net::HttpClient client(url, std::move(settings));
  const auto response = client.send({.method = "POST",
                                     .target = std::string(path),
                                     .body = write_message(message),
                                     .content_type = "application/json"});
  if (!response) return tl::unexpected(response.error());
  return response->status;
}

}  // namespace sailor::trainer
