#include "core/net/http_client.h"

#include <array>
#include <exception>
#include <future>
#include <tuple>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cpprest/http_client.h>
#include <fmt/format.h>

#include "core/net/exchange.h"
#include "core/net/tls.h"

namespace sailor::net {
namespace {

namespace http = web::http;

constexpr std::size_t kDownloadChunk = 64U << 10U;
constexpr int kOk = 200;

// A request over TLS is several writes, and the server may acknowledge the first one 40 ms late. The library documents
// the type of the handle. A connection that does not have the option works too.
void send_without_delay(http::client::native_handle handle) {
  using boost::asio::ip::tcp;
  boost::system::error_code ignored;
  auto* stream = static_cast<boost::asio::ssl::stream<tcp::socket&>*>(handle);
  std::ignore = stream->next_layer().set_option(tcp::no_delay(true), ignored);
}

http::client::http_client_config config_of(const HttpClientSettings& settings,
                                           const std::shared_ptr<SSL_CTX>& context) {
  http::client::http_client_config config;
  config.set_timeout(settings.stream_idle_timeout);
  config.set_validate_certificates(true);
  config.set_max_redirects(0);  // a redirect would lead requests, and their credentials, to another server
  if (context != nullptr) {
    config.set_ssl_context_callback([context](boost::asio::ssl::context& used) {
      SSL_CTX_up_ref(context.get());
      used = boost::asio::ssl::context(context.get());
    });
    config.set_nativehandle_options(send_without_delay);
  }
  return config;
}

http::http_request native_request(const HttpRequest& request) {
  http::http_request native(request.method);
  native.set_request_uri(web::uri(request.target));
  for (const auto& [name, value] : request.headers) native.headers().add(name, value);
  if (!request.body.empty()) native.set_body(request.body, request.content_type);
  return native;
}

HttpResponse response_of(const http::http_response& response, std::string body) {
  const auto retry_after = response.headers().find("Retry-After");
  return {response.status_code(), std::move(body),
          retry_after == response.headers().end() ? std::nullopt : retry_after_of(retry_after->second)};
}

// The library throws exceptions of several families, whose only common ancestor is std::exception.
Error error_of(const std::string& what, const std::exception& cause) {
  return unavailable(what, fmt::format("{}; check that the server runs and can be reached", cause.what()));
}

}  // namespace

struct HttpClient::Connections {
  Connections(std::string url_given, HttpClientSettings settings_given)
      : url(std::move(url_given)), settings(std::move(settings_given)) {
    try {
      std::string server_uri;
      if (settings.tls) {
        context = client_context(*settings.tls);
        server_uri = std::move(settings.tls->server_uri);
        settings.tls.reset();  // the context has copies of what it needs, and many clients share it
      }
      requests = std::make_shared<ClientConnections>(url, context, std::move(server_uri));
    } catch (const std::exception& error) {
      fault = Error{ErrorCode::kInvalidArgument,
                    fmt::format("connecting to \"{}\": {}; give a URL and what its server needs", url, error.what())};
    }
  }

  [[nodiscard]] std::string describe(const HttpRequest& request) const {
    return fmt::format("{} {}{}", request.method, url, request.target);
  }

  // Before anything is sent.
  [[nodiscard]] std::optional<Error> fault_of(const HttpRequest& request) const {
    if (fault) return fault;
    if (request.body.size() <= settings.largest_request) return std::nullopt;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: the body has {} bytes, and {} are the limit", describe(request), request.body.size(),
                             settings.largest_request)};
  }

  std::string url;
  HttpClientSettings settings;
  std::shared_ptr<SSL_CTX> context;  // null: HTTP
  std::optional<Error> fault;        // the error of invalid settings
  std::shared_ptr<ClientConnections> requests;
};

namespace {

// The body of an answer, as it arrives.
class Download {
 public:
  Download(std::string what, http::http_response response)
      : what_(std::move(what)), response_(std::move(response)), body_(response_.body().streambuf()) {}

  // Waits for bytes; an empty text is the end of the body.
  Result<std::string_view> next() {
    try {
      // A read of n bytes waits until n bytes have arrived. So this waits for one byte and then takes all that have
      // arrived.
      if (body_.getc().get() == kEnd) {
        response_.content_ready().get();  // throws if the body ended because of an error
        return std::string_view();
      }
      const std::size_t size = std::min(body_.in_avail(), chunk_.size());
      const std::size_t taken = body_.getn(reinterpret_cast<unsigned char*>(chunk_.data()), size).get();
      return std::string_view(chunk_.data(), taken);
    } catch (const std::exception& error) {
      return tl::unexpected(error_of(what_, error));
    }
  }

 private:
  static constexpr auto kEnd = Concurrency::streams::char_traits<unsigned char>::eof();

  std::string what_;
  http::http_response response_;
  Concurrency::streams::streambuf<unsigned char> body_;
  std::array<char, kDownloadChunk> chunk_{};
};

Result<http::http_response> head_of(const std::string& what, http::client::http_client& client,
                                    const HttpRequest& request, const pplx::cancellation_token& token) {
  try {
    return client.request(native_request(request), token).get();
  } catch (const std::exception& error) {
    return tl::unexpected(error_of(what, error));
  }
}

// The body of an answer that is not the stream that was asked for.
Result<std::string> whole_body(Download& download, const std::string& what, std::size_t limit) {
  std::string body;
  while (true) {
    const auto chunk = download.next();
    if (!chunk) return tl::unexpected(chunk.error());
    if (chunk->empty()) return body;
    body += *chunk;
    if (body.size() > limit) return tl::unexpected(too_large(what, limit));
  }
}

}  // namespace

HttpClient::HttpClient(const std::string& url, HttpClientSettings settings)
    : connections_(std::make_shared<const Connections>(url, std::move(settings))) {}

HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::send(const HttpRequest& request) const {
  const auto answer = std::make_shared<std::promise<Result<HttpResponse>>>();
  send_async(request, [answer](Result<HttpResponse> response) { answer->set_value(std::move(response)); });
  return answer->get_future().get();
}

void HttpClient::send_async(const HttpRequest& request, ResponseSink sink) const {
  if (auto fault = connections_->fault_of(request)) return sink(tl::unexpected(*std::move(fault)));
  std::make_shared<Exchange>(connections_->requests, connections_->describe(request),
                             Exchange::Limits{connections_->settings.timeout, connections_->settings.largest_response},
                             std::move(sink))
      ->start(request);
}

Result<HttpResponse> HttpClient::stream(const HttpRequest& request, const ChunkSink& sink,
                                        const std::stop_token& stop) const {
  if (auto fault = connections_->fault_of(request)) return tl::unexpected(*std::move(fault));
  const std::string what = connections_->describe(request);
  pplx::cancellation_token_source cancelled;
  const std::stop_callback on_stop(stop, [&cancelled] { cancelled.cancel(); });
  // A stream that is left early must be cancelled, or its download would go on unseen.
  const std::shared_ptr<void> on_leave(nullptr, [&cancelled](void*) { cancelled.cancel(); });
  http::client::http_client client(web::uri(connections_->url),
                                   config_of(connections_->settings, connections_->context));
  const auto head = head_of(what, client, request, cancelled.get_token());
  if (!head) return tl::unexpected(head.error());
  const auto download = std::make_unique<Download>(what, *head);
  if (head->status_code() != kOk) {
    auto body = whole_body(*download, what, connections_->settings.largest_response);
    if (!body) return tl::unexpected(body.error());
    return response_of(*head, *std::move(body));
  }
  while (!stop.stop_requested()) {
    const auto chunk = download->next();
    if (stop.stop_requested()) break;
    if (!chunk) return tl::unexpected(chunk.error());
    if (chunk->empty()) break;
    sink(*chunk);
  }
  return response_of(*head, "");
}

}  // namespace sailor::net
