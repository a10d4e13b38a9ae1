#include "core/net/http_server.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <latch>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "core/net/thread_pool.h"
#include "core/net/tls.h"

namespace sailor::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr std::chrono::seconds kReadLimit(120);  // for a request, and for the pause before it
constexpr std::chrono::seconds kWriteLimit(5);  // for a client to take an answer: the server waits for it when it stops
constexpr std::chrono::milliseconds kAcceptPause(100);
constexpr std::size_t kDropped = 64U << 10U;  // bytes at a time
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;
constexpr int kTooLarge = 413;
constexpr int kServerError = 500;

HttpAnswer error_answer(int status, const std::string& sentence) { return json_answer(status, {{"error", sentence}}); }

// What a listener can do with a connection, over TCP or over TLS.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;  // a request that has arrived is still answered
};

// The context of TLS for new connections. It follows the settings.
class TlsContexts {
 public:
  explicit TlsContexts(std::function<std::shared_ptr<const TlsSettings>()> settings) : settings_(std::move(settings)) {}

  [[nodiscard]] bool is_used() const { return settings_ != nullptr; }
  // Keeps the context that there is if newer settings cannot be used. Throws std::runtime_error if there is none.
  asio::ssl::context& current() {
    auto settings = settings_();
    if (context_ != nullptr && settings == used_) return *context_;
    try {
      context_ = context_of(*settings);
    } catch (const std::exception&) {
      if (context_ == nullptr) throw;
    }
    used_ = std::move(settings);
    return *context_;
  }

 private:
  static std::unique_ptr<asio::ssl::context> context_of(const TlsSettings& settings) {
    auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
    apply_to_server(context->native_handle(), settings);
    return context;
  }

  const std::function<std::shared_ptr<const TlsSettings>()> settings_;
  std::shared_ptr<const TlsSettings> used_;      // for the context
  std::unique_ptr<asio::ssl::context> context_;  // connections keep what they need of it
};

// All operations on sockets run on the strand, so no socket is closed while another thread begins to use it.
struct Listener {
  Listener(std::vector<Route> routes_given, HttpServerSettings settings_given)
      : routes(std::move(routes_given)), settings(std::move(settings_given)), tls(settings.tls) {
    if (settings.has_own_thread) handlers = own_thread.emplace(1).get_executor();
  }

  const std::vector<Route> routes;
  const HttpServerSettings settings;
  TlsContexts tls;
  const asio::strand<asio::io_context::executor_type> strand = asio::make_strand(thread_pool());
  tcp::acceptor acceptor{strand};
  asio::steady_timer pause{strand};
  std::vector<std::weak_ptr<Connection>> connections;
  std::optional<asio::thread_pool> own_thread;
  asio::any_io_executor handlers = thread_pool().get_executor();  // handlers run there
  bool is_closing = false;
};

std::string path_of(const http::request_header<>& head) {
  const std::string target(head.target());
  return target.substr(0, target.find('?'));
}

bool has_path(const Route& route, const std::string& path) {
  const std::string_view known = route.path;
  return known.ends_with('*') ? path.starts_with(known.substr(0, known.size() - 1)) : path == known;
}

std::string method_and_path(const http::request_header<>& head) {
  return fmt::format("{} {}", std::string(head.method_string()), path_of(head));
}

std::string known_routes(const std::vector<Route>& routes) {
  std::string text;
  for (const Route& route : routes) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", route.method, route.path);
  return text;
}

using Head = http::request_header<>;

struct Match {
  const Route* route = nullptr;  // null: there is none for the request
  HttpAnswer refusal = {};       // says why
};

// Needs nothing of the request but its head, so nobody has to read the body of a request that is refused.
Match match(const std::vector<Route>& routes, const Head& head, const std::string& client_uri) {
  const std::string path = path_of(head);
  const auto describe = [&](std::string_view what) { return fmt::format("{}: {}", method_and_path(head), what); };
  const auto has_its_path = [&](const Route& route) { return has_path(route, path); };
  const auto fits = [&](const Route& route) { return has_its_path(route) && route.method == head.method_string(); };
  const auto route = std::ranges::find_if(routes, fits);
  if (route == routes.end()) {
    const int status = std::ranges::any_of(routes, has_its_path) ? kMethodNotAllowed : kNotFound;
    return {.refusal = error_answer(status, describe(fmt::format("use {}", known_routes(routes))))};
  }
  if (route->only_for.empty() || route->only_for == client_uri) return {.route = &*route};
  const std::string client = client_uri.empty() ? "a client without a certificate" : client_uri;
  return {.refusal = error_answer(kForbidden,
                                  describe(fmt::format("this is for {} only, not for {}", route->only_for, client)))};
}

// "gzip, deflate;q=0.5": whether gzip is among them, and not with the quality 0, which forbids it.
bool accepts_gzip(const Head& head) {
  for (const auto& [encoding, parameters] : http::ext_list(head[http::field::accept_encoding])) {
    if (!beast::iequals(encoding, "gzip")) continue;
    const auto is_zero = [](const auto& parameter) {
      return beast::iequals(parameter.first, "q") && parameter.second.find_first_not_of("0.") == std::string_view::npos;
    };
    return std::ranges::none_of(parameters, is_zero);
  }
  return false;
}

HttpAnswer answer_of(const Route& route, const http::request<http::string_body>& request,
                     const std::string& client_uri) {
  try {
    return route.handle({path_of(request), request.body(), client_uri, accepts_gzip(request)});
  } catch (const std::exception& error) {
    return error_answer(kServerError, fmt::format("{}: {}", method_and_path(request), error.what()));
  }
}

HttpAnswer too_large(const Head& head, std::size_t limit) {
  return error_answer(kTooLarge, fmt::format("{}: a body has at most {} bytes", method_and_path(head), limit));
}

// One connection: reads a request, has it answered, and so on. It exists as long as an operation of it is under way.
// `Stream` is a beast::tcp_stream, or TLS over one.
template <class Stream>
class HttpConnection : public Connection, public std::enable_shared_from_this<HttpConnection<Stream>> {
 public:
  // `in_use` is released with the connection; the listener exists until then.
  template <class... Context>
  HttpConnection(Listener& listener, std::shared_ptr<void> in_use, tcp::socket socket, Context&... context)
      : in_use_(std::move(in_use)), listener_(listener), stream_(std::move(socket), context...) {}

  void start() override {
    if constexpr (kIsTls) {
      tcp().expires_after(kReadLimit);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](beast::error_code error) {
                                // Not TLS, or a certificate of another CA: whoever it is learns it from TLS.
                                if (error) return;
                                self->client_uri_ = peer_uri(self->stream_.native_handle());
                                self->read();
                              });
    } else {
      read();
    }
  }

  void close() override {
    if (!is_answering_) tcp().close();
  }

 private:
  static constexpr bool kIsTls = !std::is_same_v<Stream, beast::tcp_stream>;

  void read() {
    is_answering_ = false;
    route_ = nullptr;
    auto& parser = parser_.emplace();
    parser.body_limit(listener_.settings.largest_body);
    tcp().expires_after(kReadLimit);
    http::async_read_header(stream_, buffer_, parser,
                            [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) return self->fail(error);
                              self->take_head();
                            });
  }

  void take_head() {
    Match found = match(listener_.routes, request(), client_uri_);
    if (found.route == nullptr)
      return write(std::move(found.refusal), parser_.value().is_done() && request().keep_alive());
    route_ = found.route;
    http::async_read(stream_, buffer_, parser_.value(),
                     [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                       if (error) return self->fail(error);
                       self->is_answering_ = true;
                       self->answer();
                     });
  }

  void fail(beast::error_code error) {
    if (error == http::error::body_limit) return write(too_large(request(), listener_.settings.largest_body), false);
    const bool is_malformed = error.category() == beast::error_code(http::error::bad_method).category() &&
                              error != http::error::end_of_stream && error != http::error::partial_message;
    if (is_malformed) write(error_answer(kBadRequest, "this is no HTTP request: " + error.message()), false);
  }

  // The handler runs beside the strand: it may take its time.
  void answer() {
    asio::post(listener_.handlers, [self = this->shared_from_this()] {
      HttpAnswer answer = answer_of(*self->route_, self->request(), self->client_uri_);
      asio::post(self->listener_.strand, [self, answer = std::move(answer)]() mutable {
        self->write(std::move(answer), self->request().keep_alive());
      });
    });
  }

  void write(HttpAnswer answer, bool may_go_on) {
    is_answering_ = true;
    const bool goes_on = may_go_on && !listener_.is_closing;
    response_ = {static_cast<http::status>(answer.status), 11};
    response_.keep_alive(goes_on);
    if (!answer.body.empty()) response_.set(http::field::content_type, answer.content_type);
    if (!answer.content_encoding.empty()) response_.set(http::field::content_encoding, answer.content_encoding);
    if (request().method() != http::verb::head) response_.body() = std::move(answer.body);
    response_.prepare_payload();
    tcp().expires_after(kWriteLimit);
    http::async_write(stream_, response_,
                      [self = this->shared_from_this(), goes_on](beast::error_code error, std::size_t) {
                        if (error) return;
                        if (goes_on && !self->listener_.is_closing) return self->read();
                        beast::error_code ignored;  // the client may have gone away
                        std::ignore = self->tcp().socket().shutdown(tcp::socket::shutdown_send, ignored);
                        self->drop_rest();
                      });
  }

  // Closing a connection on which bytes still arrive resets it, and the client might lose the answer.
  void drop_rest() {
    if (listener_.is_closing) return;
    is_answering_ = false;
    tcp().async_read_some(buffer_.prepare(kDropped),
                          [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                            if (!error) self->drop_rest();
                          });
  }

  // The newest one, of which only the head may have arrived.
  [[nodiscard]] const http::request<http::string_body>& request() const { return parser_.value().get(); }

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }

  const std::shared_ptr<void> in_use_;
  Listener& listener_;
  Stream stream_;
  std::string client_uri_;
  const Route* route_ = nullptr;  // of the request that is read or answered
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  bool is_answering_ = false;
};

std::shared_ptr<Connection> connection_of(Listener& listener, tcp::socket socket, std::shared_ptr<void> in_use) {
  using TlsStream = asio::ssl::stream<beast::tcp_stream>;
  if (!listener.tls.is_used())
    return std::make_shared<HttpConnection<beast::tcp_stream>>(listener, std::move(in_use), std::move(socket));
  return std::make_shared<HttpConnection<TlsStream>>(listener, std::move(in_use), std::move(socket),
                                                     listener.tls.current());
}

void accept(Listener& listener, std::shared_ptr<void> in_use);

// Without a pause, a process that may not open another file would do nothing but try.
void accept_later(Listener& listener, std::shared_ptr<void> in_use) {
  listener.pause.expires_after(kAcceptPause);
  listener.pause.async_wait([&listener, in_use = std::move(in_use)](beast::error_code) mutable {
    if (!listener.is_closing) accept(listener, std::move(in_use));
  });
}

void accept(Listener& listener, std::shared_ptr<void> in_use) {
  listener.acceptor.async_accept(
      [&listener, in_use = std::move(in_use)](beast::error_code error, tcp::socket socket) mutable {
        if (listener.is_closing) return;
        if (error) return accept_later(listener, std::move(in_use));
        std::erase_if(listener.connections, [](const auto& connection) { return connection.expired(); });
        beast::error_code ignored;                                      // the socket works without the option
        std::ignore = socket.set_option(tcp::no_delay(true), ignored);  // an answer over TLS is several writes
        const auto connection = connection_of(listener, std::move(socket), in_use);
        listener.connections.push_back(connection);
        connection->start();
        accept(listener, std::move(in_use));
      });
}

// "127.0.0.1:8082"; "[::1]:8082".
tcp::endpoint endpoint_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) throw std::invalid_argument("the address has no port");
  // The resolver would take a larger number modulo 65536.
  const auto port = parse_number<std::uint16_t>(address.substr(colon + 1));
  if (!port) throw std::invalid_argument("the port is not a number from 0 to 65535");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  tcp::resolver resolver(thread_pool());
  return *resolver.resolve(host, std::to_string(*port), tcp::resolver::passive).begin();
}

}  // namespace

struct HttpServer::Impl {
  Impl(const std::string& address, std::vector<Route> routes, HttpServerSettings settings)
      : listener(std::move(routes), std::move(settings)) {
    if (listener.tls.is_used()) listener.tls.current();  // throws if it cannot be used
    const tcp::endpoint endpoint = endpoint_of(address);
    listener.acceptor.open(endpoint.protocol());
    listener.acceptor.set_option(tcp::acceptor::reuse_address(true));
    listener.acceptor.bind(endpoint);
    listener.acceptor.listen();
    accept(listener, in_use);
  }

  void close() {
    asio::post(listener.strand, [this, until_closed = std::move(in_use)] {
      listener.is_closing = true;
      listener.acceptor.close();
      listener.pause.cancel();
      for (const auto& weak : listener.connections) {
        if (const auto connection = weak.lock()) connection->close();
      }
    });
    unused->wait();
  }

  Listener listener;
  const std::shared_ptr<std::latch> unused = std::make_shared<std::latch>(1);
  // Whatever runs for the server holds a copy of it. The latch is open once the last one is gone.
  std::shared_ptr<void> in_use{nullptr, [unused = unused](void*) { unused->count_down(); }};
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& address, std::vector<Route> routes,
                                                       HttpServerSettings settings) {
  try {
    return std::unique_ptr<HttpServer>(
        new HttpServer(std::make_unique<Impl>(address, std::move(routes), std::move(settings))));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("listening on {}: {}; free the port or choose another address", address, error.what()));
  }
}

HttpServer::~HttpServer() { impl_->close(); }

}  // namespace sailor::net
