// HttpClient: requests to one server over HTTP or HTTPS, with connections that are kept open between requests.
// A request ends within its timeout, whatever the server does, and reads no larger answer than its limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/model/error.h"
#include "core/net/http_message.h"
#include "core/net/tls_settings.h"

namespace sailor::net {

struct HttpClientSettings {
  // From the start of a request to the last byte of its answer.
  std::chrono::milliseconds timeout = std::chrono::seconds(15);
  // A stream may last for ever, but it fails if nothing arrives for this long.
  std::chrono::milliseconds stream_idle_timeout = std::chrono::seconds(150);
  std::size_t largest_request = std::size_t{16} << 20U;  // bytes of a body
  std::size_t largest_response = std::size_t{1} << 20U;  // bytes of a body; does not count for streams
  std::optional<TlsSettings> tls = {};                   // required for a URL that begins with https
};

// Errors are kUnavailable if there was no complete answer (the request may have taken effect), kForbidden if one side
// does not accept the certificate or the TLS of the other, and kInvalidArgument if the request could not be sent. A
// status such as 404 is an answer, not an error, and so is a redirect, which is not followed.
class HttpClient {
 public:
  using ResponseSink = std::function<void(Result<HttpResponse>)>;
  using ChunkSink = std::function<void(std::string_view)>;

  // "http://10.0.0.1:7070". A URL that is not one is the error of each request.
  HttpClient(const std::string& url, HttpClientSettings settings);
  ~HttpClient();  // requests that are under way go on, and their sinks are called
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Waits for the answer.
  [[nodiscard]] Result<HttpResponse> send(const HttpRequest& request) const;

  // Returns at once. The sink is called exactly once, on a thread of the pool, or before the return if the request
  // cannot be sent. It must not wait.
  void send_async(const HttpRequest& request, ResponseSink sink) const;

  // Hands the body of a 200 to the sink as it arrives, until the body ends or a stop is requested. Returns the answer
  // without that body; the body of any other status is returned. An exception of the sink ends the stream and passes
  // through.
  [[nodiscard]] Result<HttpResponse> stream(const HttpRequest& request, const ChunkSink& sink,
                                            const std::stop_token& stop) const;

 private:
  struct Connections;
  std::shared_ptr<const Connections> connections_;
};

}  // namespace sailor::net
