#include "core/net/exchange.h"

#include <array>
#include <sstream>
#include <tuple>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "core/net/thread_pool.h"

namespace sailor::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::uint32_t kLargestHead = 64U << 10U;  // bytes

// One text, so that a small request is one packet.
std::string text_of(const HttpRequest& request, const ClientConnections& connections) {
  http::request<http::string_body> native;
  native.version(11);
  native.method_string(request.method);
  native.target(connections.server().base + request.target);
  native.set(http::field::host, connections.host_header());
  for (const auto& [name, value] : request.headers) native.insert(name, value);
  if (!request.content_type.empty() && !request.body.empty())
    native.set(http::field::content_type, request.content_type);
  native.body() = request.body;
  native.prepare_payload();
  std::ostringstream text;
  text << native;
  return std::move(text).str();
}

// A request whose repetition has no other effect than the first.
bool may_be_repeated(const std::string& method) { return method == "GET" || method == "PUT" || method == "HEAD"; }

}  // namespace

std::optional<std::chrono::seconds> retry_after_of(const std::string& header) {
  const auto seconds = parse_number<int>(header);  // or a date, which the servers of this project do not send
  return seconds && *seconds > 0 ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

Error unavailable(const std::string& what, std::string_view why) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", what, why)};
}

Error too_large(const std::string& what, std::size_t limit) {
  return unavailable(what, fmt::format("the answer is larger than {} bytes, so it was not read to its end", limit));
}

Exchange::Exchange(std::shared_ptr<ClientConnections> connections, std::string what, const Limits& limits, Sink sink)
    : connections_(std::move(connections)),
      what_(std::move(what)),
      limits_(limits),
      sink_(std::move(sink)),
      timer_(connections_->strand()),
      resolver_(connections_->strand()) {}

void Exchange::start(const HttpRequest& request) {
  method_ = request.method;
  text_ = text_of(request, *connections_);
  asio::post(connections_->strand(), [self = shared_from_this()] { self->begin(); });
}

void Exchange::begin() {
  timer_.expires_after(limits_.timeout);
  timer_.async_wait([self = shared_from_this()](const ErrorCode& cancelled) {
    if (!cancelled) self->timed_out();
  });
  stream_ = connections_->take();
  is_reused_ = stream_ != nullptr;
  is_reused_ ? write() : resolve();
}

void Exchange::resolve() {
  const ServerUrl& server = connections_->server();
  is_reused_ = false;
  stream_ = connections_->make();
  ErrorCode no_address;
  const auto address = asio::ip::make_address(server.host, no_address);
  if (!no_address) {
    return connect(std::array{asio::ip::tcp::endpoint(address, static_cast<std::uint16_t>(server.port))});
  }
  resolver_.async_resolve(server.host, std::to_string(server.port),
                          [self = shared_from_this()](const ErrorCode& error, const Endpoints& endpoints) {
                            if (error) return self->broke(error);
                            self->connect(endpoints);
                          });
}

template <class Addresses>
void Exchange::connect(const Addresses& addresses) {
  if (!sink_) return;
  asio::async_connect(stream_->socket(), addresses, [self = shared_from_this()](const ErrorCode& error, const auto&) {
    if (error) return self->broke(error);
    self->handshake();
  });
}

void Exchange::handshake() {
  if (!sink_) return;
  connections_->prepare(*stream_);
  if (!connections_->server().is_https) return write();
  stream_->async_handshake([self = shared_from_this()](const ErrorCode& error, std::size_t) {
    if (!error) return self->write();
    self->fail_tls(error);
  });
}

void Exchange::write() {
  if (!sink_) return;
  asio::async_write(*stream_, asio::buffer(text_), [self = shared_from_this()](const ErrorCode& error, std::size_t) {
    if (error) return self->broke(error);
    self->read_head();
  });
}

// Head and body apart: read as one, this version of Boost overlooks a Content-Length that exceeds the limit.
void Exchange::read_head() {
  if (!sink_) return;
  auto& parser = parser_.emplace();
  parser.header_limit(kLargestHead);
  parser.body_limit(limits_.largest_response);
  parser.skip(method_ == "HEAD");
  http::async_read_header(*stream_, buffer_, parser, [self = shared_from_this()](const ErrorCode& error, std::size_t) {
    if (error) return self->broke(error);
    self->read_body();
  });
}

void Exchange::read_body() {
  if (!sink_) return;
  http::async_read(*stream_, buffer_, parser_.value(),
                   [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                     if (error) return self->broke(error);
                     self->take_answer();
                   });
}

void Exchange::take_answer() {
  if (!sink_) return;
  auto response = parser_.value().release();
  if (response.keep_alive() && buffer_.size() == 0) connections_->keep(std::move(stream_));
  const std::string retry_after(response[http::field::retry_after]);
  finish(
      HttpResponse{static_cast<int>(response.result_int()), std::move(response.body()), retry_after_of(retry_after)});
}

// The server may close a connection while a request is on its way to it, without having read the request.
void Exchange::broke(const ErrorCode& error) {
  if (!sink_) return;
  if (error == http::error::body_limit) return finish(tl::unexpected(too_large(what_, limits_.largest_response)));
  const bool has_begun = parser_ && parser_->got_some();
  if (is_reused_ && !has_begun && may_be_repeated(method_)) {
    parser_.reset();
    buffer_.clear();
    return resolve();
  }
  // In TLS 1.3 the client learns that the server refuses its certificate only when it reads.
  if (error.category() == asio::error::get_ssl_category()) return fail_tls(error);
  fail(fmt::format("{}; check that the server runs and can be reached", error.message()));
}

void Exchange::fail_tls(const ErrorCode& error) {
  if (!sink_) return;
  const std::string fault = stream_->fault_of_certificate();
  Error failure = unavailable(
      what_, fmt::format("the TLS handshake failed ({}{}{}); check that the given CA signed the server's certificate "
                         "and that the certificate names this host",
                         error.message(), fault.empty() ? "" : ": ", fault));
  // A connection that ends meanwhile says nothing about certificates.
  if (error.category() == asio::error::get_ssl_category()) failure.code = sailor::ErrorCode::kForbidden;
  finish(tl::unexpected(std::move(failure)));
}

void Exchange::timed_out() {
  fail(fmt::format("no complete answer came within {} ms; check that the server runs and can be reached",
                   limits_.timeout.count()));
}

void Exchange::fail(std::string_view why) { finish(tl::unexpected(unavailable(what_, why))); }

// A connection that is not kept is closed, so that no later request receives the rest of this answer.
void Exchange::finish(Result<HttpResponse> result) {
  if (!sink_) return;
  timer_.cancel();
  resolver_.cancel();
  if (stream_ != nullptr) {
    ErrorCode ignored;
    std::ignore = stream_->socket().close(ignored);
  }
  std::exchange(sink_, nullptr)(std::move(result));
}

}  // namespace sailor::net
