// Transport: HTTP requests to one server, as the API client needs them. The real one is http_transport.h.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

namespace sailor::kube {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // path and query
  std::string body;
  std::string content_type;
};

struct HttpResponse {
  int status = 0;
  std::string body;
  std::optional<std::chrono::milliseconds> retry_after;
};

// No answer: the connection broke, the certificate is wrong, the time is over. The request may have taken effect.
class TransportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using ChunkSink = std::function<void(std::string_view)>;

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual HttpResponse send(const HttpRequest& request) = 0;  // throws TransportError
  // Hands the body of a 200 to the sink as it arrives, until its end or a stop; the body of another answer is returned.
  virtual HttpResponse stream(const HttpRequest& request, const ChunkSink& sink, std::stop_token stop) = 0;
};

}  // namespace sailor::kube
