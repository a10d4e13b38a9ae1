#include "operator/kube/http_transport.h"

namespace sailor::kube {
namespace {

// The API server sends a bookmark about once a minute, so a watch that receives nothing for this long has lost its
// server.
constexpr auto kWatchIdleTimeout = std::chrono::seconds(150);
// The limit suffices for a list of 15,000 pods of 10 KB, as in a large cluster.
constexpr std::size_t kLargestResponse = std::size_t{256} << 20U;
constexpr const char* kUserAgent = "sailor-operator/" SAILOR_VERSION " (linux)";
constexpr int kUnauthorized = 401;

net::HttpClientSettings settings_of(const ClusterConfig& config, std::chrono::milliseconds timeout) {
  net::HttpClientSettings settings{
      .timeout = timeout, .stream_idle_timeout = kWatchIdleTimeout, .largest_response = kLargestResponse};
  if (config.server.starts_with("https")) {
    settings.tls = net::TlsSettings{config.ca_pem, config.client_cert_pem, config.client_key_pem};
  }
  return settings;
}

HttpResponse answered(Result<HttpResponse> response) {
  if (!response) throw TransportError(response.error().message);
  return *std::move(response);
}

}  // namespace

HttpTransport::HttpTransport(const ClusterConfig& config, std::chrono::milliseconds timeout)
    : token_(config.token, config.token_file), client_(config.server, settings_of(config, timeout)) {}

HttpRequest HttpTransport::identified(HttpRequest request) {
  request.headers = {{"User-Agent", kUserAgent}, {"Accept", "application/json"}};
  if (const std::string bearer = token_.text(); !bearer.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + bearer);
  }
  return request;
}

HttpResponse HttpTransport::send(const HttpRequest& request) {
  HttpResponse response = answered(client_.send(identified(request)));
  if (response.status != kUnauthorized) return response;
  token_.refused();
  // The token was rotated a moment ago, so the request is repeated once with the new one.
  return answered(client_.send(identified(request)));
}

HttpResponse HttpTransport::stream(const HttpRequest& request, const ChunkSink& sink, std::stop_token stop) {
  try {
    HttpResponse response = answered(client_.stream(identified(request), sink, stop));
    if (response.status == kUnauthorized) token_.refused();
    return response;
  } catch (const TransportError&) {
    throw;
  } catch (const std::exception& error) {  // the sink could not read what the server sent
    throw TransportError(error.what());
  }
}

}  // namespace sailor::kube
