// HttpServer: answers requests at one address. Handlers run on the threads of the pool, several at a time, unless the
// settings say otherwise.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "core/net/http_message.h"
#include "core/net/tls_settings.h"

namespace sailor::net {

// A request as a handler sees it.
struct HttpCall {
  std::string path;  // without the query
  const std::string& body;
  std::string client_uri = {};  // the URI in the certificate of the client; empty: it has shown none
  bool accepts_gzip = false;    // the client can read an answer that is compressed so
};

struct Route {
  std::string method;
  std::string path;  // "/v1/state"; "/jobs/*" stands for every path that begins with "/jobs/"
  std::function<HttpAnswer(const HttpCall& call)> handle;
  std::string only_for = {};  // the URI that the client's certificate must contain; empty: any client, or none
};

struct HttpServerSettings {
  std::size_t largest_body = std::size_t{16} << 10U;  // bytes; a larger one is answered with 413
  // Set: the server speaks HTTPS only. Called for each connection; the settings may change, by another pointer.
  std::function<std::shared_ptr<const TlsSettings>()> tls = {};
  // Handlers run one at a time on a thread of the server, so that whoever asks a lot delays no other server or client.
  bool has_own_thread = false;
};

// Errors are answered with {"error": a sentence}: 404 for an unknown path, 405 for another method, 403 for a client
// that the route is not for, 413 for a body that is too large, 400 for what is not HTTP, and 500 for an exception of a
// handler. What the head of a request shows is answered before its body is read. A request has two minutes to arrive;
// it keeps no thread meanwhile.
class HttpServer {
 public:
  // "127.0.0.1:8082"; "[::1]:8082". Takes requests from when it returns. kUnavailable: the address, or what `tls`
  // returns, cannot be used.
  static Result<std::unique_ptr<HttpServer>> listen(const std::string& address, std::vector<Route> routes,
                                                    HttpServerSettings settings = {});
  ~HttpServer();  // waits until all requests that have arrived are answered, for at most 5 s after the last handler
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sailor::net
