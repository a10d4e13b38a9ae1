// Exchange: one request from its start to its end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "core/model/error.h"
#include "core/net/client_connections.h"
#include "core/net/http_message.h"

namespace sailor::net {

std::optional<std::chrono::seconds> retry_after_of(const std::string& header);  // empty: no number of seconds
Error unavailable(const std::string& what, std::string_view why);
Error too_large(const std::string& what, std::size_t limit);  // the answer is larger than the limit

// It ends with the first of these: the answer, an error, or the timeout. Everything runs on the strand of the
// connections, and the sink is called there.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  using Sink = std::function<void(Result<HttpResponse>)>;
  struct Limits {
    std::chrono::milliseconds timeout{};
    std::size_t largest_response = 0;  // bytes of a body
  };

  // `what` describes the request in errors.
  Exchange(std::shared_ptr<ClientConnections> connections, std::string what, const Limits& limits, Sink sink);

  void start(const HttpRequest& request);

 private:
  using ErrorCode = boost::system::error_code;
  using Endpoints = boost::asio::ip::tcp::resolver::results_type;

  void begin();
  void resolve();
  template <class Addresses>
  void connect(const Addresses& addresses);
  void handshake();
  void write();
  void read_head();
  void read_body();
  void take_answer();
  void broke(const ErrorCode& error);
  void timed_out();
  void fail(std::string_view why);
  void fail_tls(const ErrorCode& error);
  void finish(Result<HttpResponse> result);

  const std::shared_ptr<ClientConnections> connections_;
  const std::string what_;
  const Limits limits_;
  Sink sink_;  // empty: it has been called
  boost::asio::steady_timer timer_;
  boost::asio::ip::tcp::resolver resolver_;
  std::unique_ptr<ClientStream> stream_;
  bool is_reused_ = false;  // the connection served an earlier request
  std::string method_;
  std::string text_;  // the whole request
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> parser_;
};

}  // namespace sailor::net
