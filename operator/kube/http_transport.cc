#include "operator/kube/http_transport.h"

#include <cpprest/http_client.h>
#include <fmt/format.h>
#include <pplx/threadpool.h>

#include "operator/kube/tls.h"
#include "operator/kube/token.h"

namespace sailor::kube {
namespace {

namespace http = web::http;

// The API server sends a bookmark about once a minute: a watch that is silent for longer has lost its peer.
constexpr auto kWatchSilence = std::chrono::seconds(150);
constexpr std::size_t kChunk = 64U << 10U;
constexpr const char* kUserAgent = "sailor-operator/0.1.0 (linux/amd64)";

http::client::http_client_config client_config(const ClusterConfig& config, std::chrono::seconds timeout) {
  http::client::http_client_config settings;
  settings.set_timeout(timeout);
  settings.set_validate_certificates(true);
  if (config.server.starts_with("https")) {
    settings.set_ssl_context_callback(
        [config](boost::asio::ssl::context& context) { use_identity(context.native_handle(), config); });
  }
  return settings;
}

std::optional<std::chrono::milliseconds> retry_after(const http::http_response& response) {
  const auto header = response.headers().find("Retry-After");
  if (header == response.headers().end()) return std::nullopt;
  const int seconds = std::atoi(header->second.c_str());  // 0: a date, which the API server never sends
  return seconds > 0 ? std::optional<std::chrono::milliseconds>(std::chrono::seconds(seconds)) : std::nullopt;
}

// What the library throws has one ancestor but several families; outside of here there is only TransportError.
template <class Work>
auto translated(Work work) {
  try {
    return work();
  } catch (const pplx::task_canceled&) {
    throw TransportError("cancelled");
  } catch (const TransportError&) {
    throw;
  } catch (const std::exception& error) {
    throw TransportError(error.what());
  }
}

}  // namespace

struct HttpTransport::Clients {
  Clients(const ClusterConfig& config, std::chrono::seconds timeout)
      : token(config.token, config.token_file),
        requests(config.server, client_config(config, timeout)),
        watches(config.server, client_config(config, kWatchSilence)) {}

  http::http_request native(const HttpRequest& request) {
    http::http_request native(request.method);
    native.set_request_uri(web::uri(request.target));
    native.headers().add("User-Agent", kUserAgent);
    native.headers().add("Accept", "application/json");
    if (const std::string bearer = token.text(); !bearer.empty())
      native.headers().add("Authorization", "Bearer " + bearer);
    if (!request.body.empty()) native.set_body(request.body, request.content_type);
    return native;
  }

  HttpResponse answer(const http::http_response& response) {
    if (response.status_code() == http::status_codes::Unauthorized) token.refused();
    return {response.status_code(), response.extract_utf8string(true).get(), retry_after(response)};
  }

  Token token;
  http::client::http_client requests;
  http::client::http_client watches;  // apart: a list must not wait behind a watch
};

void start_http_threads(unsigned threads) { crossplat::threadpool::initialize_with_threads(threads); }

HttpTransport::HttpTransport(const ClusterConfig& config, std::chrono::seconds timeout)
    : clients_(std::make_unique<Clients>(config, timeout)) {}

HttpTransport::~HttpTransport() = default;

HttpResponse HttpTransport::send(const HttpRequest& request) {
  return translated([&] {
    HttpResponse response = clients_->answer(clients_->requests.request(clients_->native(request)).get());
    if (response.status != http::status_codes::Unauthorized) return response;
    // The token was rotated a moment ago: once more with the new one.
    return clients_->answer(clients_->requests.request(clients_->native(request)).get());
  });
}

HttpResponse HttpTransport::stream(const HttpRequest& request, const ChunkSink& sink, std::stop_token stop) {
  return translated([&]() -> HttpResponse {
    pplx::cancellation_token_source cancelled;
    const std::stop_callback on_stop(stop, [&cancelled] { cancelled.cancel(); });
    // A watch that is left early must be cancelled, or its download would go on unseen.
    const std::shared_ptr<void> on_leave(nullptr, [&cancelled](void*) { cancelled.cancel(); });
    const auto response = clients_->watches.request(clients_->native(request), cancelled.get_token()).get();
    if (response.status_code() != http::status_codes::OK) return clients_->answer(response);
    auto body = response.body().streambuf();
    std::string chunk(kChunk, '\0');
    constexpr auto kEnd = Concurrency::streams::char_traits<unsigned char>::eof();
    // A read of n bytes waits until there are n: so wait for one, and take what there is.
    while (!stop.stop_requested() && body.getc().get() != kEnd) {
      const std::size_t size = std::min(body.in_avail(), chunk.size());
      const std::size_t taken = body.getn(reinterpret_cast<unsigned char*>(chunk.data()), size).get();
      sink(std::string_view(chunk).substr(0, taken));
    }
    // An end of the body that is an error is told by the completion of the download.
    if (!stop.stop_requested()) response.content_ready().get();
    return {response.status_code(), "", std::nullopt};
  });
}

}  // namespace sailor::kube
