// ClientConnections: what an HttpClient knows of its server, and the connections to it that wait for another request.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/net/client_stream.h"
#include "core/net/tls.h"

namespace sailor::net {

// "https://10.0.0.1:6443/base". Throws std::exception if it is no such URL.
struct ServerUrl {
  explicit ServerUrl(const std::string& url);
  bool is_https = false;
  std::string host;  // an IPv6 address has no brackets
  int port = 0;
  std::string base;  // begins each path; has no slash at its end
};

// All its functions must be called on the strand, but for the constructor and the destructor.
class ClientConnections : public std::enable_shared_from_this<ClientConnections> {
 public:
  // `tls` is null for HTTP.
  ClientConnections(const std::string& url, std::shared_ptr<SSL_CTX> tls, std::string server_uri);

  [[nodiscard]] const ServerUrl& server() const { return server_; }
  [[nodiscard]] const boost::asio::any_io_executor& strand() const { return strand_; }
  [[nodiscard]] std::string host_header() const;

  // Returns null if no connection waits.
  std::unique_ptr<ClientStream> take();
  // The connection is closed if it is not taken within half a minute.
  void keep(std::unique_ptr<ClientStream> stream);
  [[nodiscard]] std::unique_ptr<ClientStream> make() const { return std::make_unique<ClientStream>(strand_); }
  void prepare(ClientStream& stream) const;  // once it is connected

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    std::unique_ptr<ClientStream> stream;
    Clock::time_point since;
  };
  void await_expiry();
  void close_expired();

  const ServerUrl server_;
  const std::shared_ptr<SSL_CTX> tls_;
  const std::string server_uri_;
  const boost::asio::any_io_executor strand_;
  std::vector<Idle> idle_;  // the oldest first
  boost::asio::steady_timer expiry_;
};

}  // namespace sailor::net
