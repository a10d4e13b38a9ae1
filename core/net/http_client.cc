#include "core/net/http_client.h"

#include <array>
#include <atomic>
#include <exception>
#include <future>
#include <tuple>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cpprest/http_client.h>
#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "core/net/thread_pool.h"
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

http::client::http_client_config config_of(const HttpClientSettings& settings, std::chrono::milliseconds idle_timeout) {
  http::client::http_client_config config;
  config.set_timeout(idle_timeout);
  config.set_validate_certificates(true);
  config.set_max_redirects(0);  // a redirect would lead requests, and their credentials, to another server
  if (settings.tls) {
    config.set_ssl_context_callback(
        [tls = *settings.tls](boost::asio::ssl::context& context) { apply_to_client(context.native_handle(), tls); });
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

std::optional<std::chrono::seconds> retry_after_of(const http::http_response& response) {
  const auto header = response.headers().find("Retry-After");
  if (header == response.headers().end()) return std::nullopt;
  const auto seconds = parse_number<int>(header->second);  // or a date, which the servers of this project do not send
  return seconds && *seconds > 0 ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

HttpResponse response_of(const http::http_response& response, std::string body) {
  return {response.status_code(), std::move(body), retry_after_of(response)};
}

Error unavailable(const std::string& what, std::string_view why) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", what, why)};
}

// The library throws exceptions of several families, whose only common ancestor is std::exception.
Error error_of(const std::string& what, const std::exception& cause) {
  const std::string text = cause.what();
  if (text.find("handshake") != std::string::npos) {
    return unavailable(what, fmt::format("the TLS handshake failed ({}); check that the given CA signed the server's "
                                         "certificate and that the certificate names this host",
                                         text));
  }
  return unavailable(what, fmt::format("{}; check that the server runs and can be reached", text));
}

Error too_large(const std::string& what, std::size_t limit) {
  return unavailable(what, fmt::format("the answer is larger than {} bytes, so it was not read to its end", limit));
}

}  // namespace

struct HttpClient::Connections {
  Connections(std::string url_given, HttpClientSettings settings_given)
      : url(std::move(url_given)), settings(std::move(settings_given)) {
    thread_pool();
    try {
      requests.emplace(web::uri(url), config_of(settings, settings.timeout));
      streams.emplace(web::uri(url), config_of(settings, settings.stream_idle_timeout));
    } catch (const std::exception& error) {
      fault =
          Error{ErrorCode::kInvalidArgument, fmt::format("connecting to \"{}\": {}; give a URL", url, error.what())};
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
  std::optional<Error> fault;  // the error of an invalid URL
  mutable std::optional<http::client::http_client> requests;
  mutable std::optional<http::client::http_client> streams;  // separate: its time limit is another one
};

namespace {

// One request from its start to its end. It ends with the first of these: the answer, an error, the timeout, or a body
// that is too large. The library's own timeout counts only the time in which nothing arrives.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<const void> keep_open, std::string what, const HttpClientSettings& settings,
           HttpClient::ResponseSink sink)
      : keep_open_(std::move(keep_open)),
        what_(std::move(what)),
        timeout_(settings.timeout),
        limit_(settings.largest_response),
        sink_(std::move(sink)),
        timer_(thread_pool()) {}

  void start(http::client::http_client& client, const HttpRequest& request) {
    const auto self = shared_from_this();
    timer_.expires_after(timeout_);
    timer_.async_wait([self](const boost::system::error_code& cancelled) {
      if (!cancelled) self->break_off(self->timed_out());
    });
    try {
      http::http_request native = native_request(request);
      // Weak, because the request is a part of what the exchange waits for.
      native.set_progress_handler(
          [weak = weak_from_this()](http::message_direction::direction direction, utility::size64_t bytes) {
            const auto exchange = weak.lock();
            if (exchange && direction == http::message_direction::download && bytes > exchange->limit_) {
              exchange->break_off(too_large(exchange->what_, exchange->limit_));
            }
          });
      client.request(native, cancel_.get_token()).then([self](const pplx::task<http::http_response>& response) {
        self->take_head(response);
      });
    } catch (const std::exception& error) {
      finish(tl::unexpected(error_of(what_, error)));
    }
  }

 private:
  void take_head(const pplx::task<http::http_response>& task) {
    const auto self = shared_from_this();
    try {
      const http::http_response response = task.get();
      if (response.headers().content_length() > limit_) return break_off(too_large(what_, limit_));
      response.extract_vector().then(
          [self, response](const pplx::task<std::vector<unsigned char>>& body) { self->take_body(response, body); });
    } catch (const std::exception& error) {
      finish(tl::unexpected(error_of(what_, error)));
    }
  }

  void take_body(const http::http_response& response, const pplx::task<std::vector<unsigned char>>& task) {
    try {
      const std::vector<unsigned char> body = task.get();
      if (body.size() > limit_) return finish(tl::unexpected(too_large(what_, limit_)));
      finish(response_of(response, std::string(body.begin(), body.end())));
    } catch (const std::exception& error) {
      finish(tl::unexpected(error_of(what_, error)));
    }
  }

  [[nodiscard]] Error timed_out() const {
    return unavailable(what_, fmt::format("no complete answer came within {} ms; check that the server runs and can be "
                                          "reached",
                                          timeout_.count()));
  }

  // The cancelled connection is closed, so that no later request receives the rest of this answer.
  void break_off(Error error) {
    finish(tl::unexpected(std::move(error)));
    cancel_.cancel();
  }

  void finish(Result<HttpResponse> result) {
    if (is_finished_.exchange(true)) return;
    timer_.cancel();
    sink_(std::move(result));
  }

  const std::shared_ptr<const void> keep_open_;
  const std::string what_;
  const std::chrono::milliseconds timeout_;
  const std::size_t limit_;
  const HttpClient::ResponseSink sink_;
  boost::asio::steady_timer timer_;
  pplx::cancellation_token_source cancel_;
  std::atomic<bool> is_finished_ = false;
};

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
  std::make_shared<Exchange>(connections_, connections_->describe(request), connections_->settings, std::move(sink))
      ->start(connections_->requests.value(), request);
}

Result<HttpResponse> HttpClient::stream(const HttpRequest& request, const ChunkSink& sink,
                                        const std::stop_token& stop) const {
  if (auto fault = connections_->fault_of(request)) return tl::unexpected(*std::move(fault));
  const std::string what = connections_->describe(request);
  pplx::cancellation_token_source cancelled;
  const std::stop_callback on_stop(stop, [&cancelled] { cancelled.cancel(); });
  // A stream that is left early must be cancelled, or its download would go on unseen.
  const std::shared_ptr<void> on_leave(nullptr, [&cancelled](void*) { cancelled.cancel(); });
  const auto head = head_of(what, connections_->streams.value(), request, cancelled.get_token());
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
