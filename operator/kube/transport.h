// Transport: HTTP requests to the API server. Api depends on this interface only, so that tests can put a fake API
// server behind it. http_transport.h has the implementation over the network.
#pragma once

#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/net/http_message.h"

namespace sailor::kube {

using net::HttpRequest;
using net::HttpResponse;

// There was no complete answer: the connection broke, the certificate is wrong, or the request timed out. The request
// may have taken effect.
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
  // Calls the sink with the body of a 200 as it arrives, until the body ends or a stop is requested. Returns any other
  // answer with its body. Throws TransportError.
  virtual HttpResponse stream(const HttpRequest& request, const ChunkSink& sink, std::stop_token stop) = 0;
};

}  // namespace sailor::kube
