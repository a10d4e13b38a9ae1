#include "core/net/http_server.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include <cpprest/http_listener.h>
#include <fmt/format.h>

#include "core/net/thread_pool.h"

namespace sailor::net {
namespace {

namespace http = web::http;
using http::experimental::listener::http_listener;

constexpr std::size_t kUploadChunk = 64U << 10U;
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;
constexpr int kTooLarge = 413;
constexpr int kServerError = 500;
constexpr int kUnavailable = 503;

void reply(const http::http_request& request, const HttpAnswer& answer) {
  http::http_response response(static_cast<http::status_code>(answer.status));
  if (!answer.body.empty()) response.set_body(answer.body, answer.content_type);
  request.reply(response).then([](const pplx::task<void>& sent) {
    try {
      sent.get();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the client has gone away
    }
  });
}

HttpAnswer error_answer(int status, const std::string& sentence) { return json_answer(status, {{"error", sentence}}); }

// Counts the handlers that run, so that the server can wait for them.
class Running {
 public:
  // Returns null if the server is closing.
  std::shared_ptr<void> enter() {
    const std::scoped_lock lock(mutex_);
    if (is_closing_) return nullptr;
    ++count_;
    return {this, [](Running* running) { running->leave(); }};
  }
  void close() {
    std::unique_lock lock(mutex_);
    is_closing_ = true;
    changed_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  void leave() {
    const std::scoped_lock lock(mutex_);
    --count_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closing_ = false;
  int count_ = 0;
};

// The body of a request, read piece by piece as it arrives. The library answers no request before its body has ended,
// so what exceeds the limit is read and dropped.
class Upload : public std::enable_shared_from_this<Upload> {
 public:
  // Calls the sink with nothing if the body is too large.
  using Sink = std::function<void(const std::optional<std::string>& body)>;

  Upload(const http::http_request& request, std::size_t limit, Sink sink)
      : request_(request), limit_(limit), sink_(std::move(sink)), stream_(request_.body().streambuf()) {}

  void read() {
    const auto self = shared_from_this();
    stream_.getn(chunk_.data(), chunk_.size()).then([self](const pplx::task<std::size_t>& task) { self->take(task); });
  }

 private:
  void take(const pplx::task<std::size_t>& task) {
    try {
      const std::size_t size = task.get();
      if (body_) body_->append(chunk_.begin(), chunk_.begin() + static_cast<std::ptrdiff_t>(size));
      if (body_ && body_->size() > limit_) body_.reset();
      if (size == chunk_.size()) return read();
      request_.content_ready().get();  // throws if the body ended because of an error
      sink_(body_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the client has gone away
    }
  }

  http::http_request request_;
  const std::size_t limit_;
  const Sink sink_;
  Concurrency::streams::streambuf<unsigned char> stream_;
  std::array<unsigned char, kUploadChunk> chunk_{};
  std::optional<std::string> body_ = "";
};

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(const std::string& url, std::vector<Route> routes_given, HttpServerSettings settings_given)
      : routes(std::move(routes_given)), settings(settings_given), listener(web::uri(url)) {}

  void open() {
    listener.support([weak = weak_from_this()](const http::http_request& request) {
      if (const auto self = weak.lock()) self->serve(request);
    });
    listener.open().get();
  }

  void serve(const http::http_request& request) {
    const std::string path = request.relative_uri().path();
    const auto has_path = [&](const Route& route) { return route.path == path; };
    const auto fits = [&](const Route& route) { return has_path(route) && route.method == request.method(); };
    const auto route = std::ranges::find_if(routes, fits);
    if (route == routes.end()) {
      const int status = std::ranges::any_of(routes, has_path) ? kMethodNotAllowed : kNotFound;
      return reply(request, error_answer(status, fmt::format("{} {}: use {}", request.method(), path, known_routes())));
    }
    const auto sink = [self = shared_from_this(), request, &route = *route](const auto& body) {
      reply(request, self->answer(route, body));
    };
    std::make_shared<Upload>(request, settings.largest_body, sink)->read();
  }

  HttpAnswer answer(const Route& route, const std::optional<std::string>& body) {
    const auto describe = [&](std::string_view what) {
      return fmt::format("{} {}: {}", route.method, route.path, what);
    };
    if (!body) {
      return error_answer(kTooLarge, describe(fmt::format("a body has at most {} bytes", settings.largest_body)));
    }
    const auto running = handlers.enter();
    if (!running) return error_answer(kUnavailable, describe("the server is closing"));
    try {
      return route.handle(*body);
    } catch (const std::exception& error) {
      return error_answer(kServerError, describe(error.what()));
    }
  }

  [[nodiscard]] std::string known_routes() const {
    std::string text;
    for (const Route& route : routes) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", route.method, route.path);
    }
    return text;
  }

  const std::vector<Route> routes;
  const HttpServerSettings settings;
  Running handlers;
  http_listener listener;
};

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& address, std::vector<Route> routes,
                                                       HttpServerSettings settings) {
  start_thread_pool();
  try {
    auto impl = std::make_shared<Impl>("http://" + address, std::move(routes), settings);
    impl->open();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("listening on {}: {}; free the port or choose another address", address, error.what()));
  }
}

HttpServer::~HttpServer() {
  impl_->handlers.close();
  try {
    impl_->listener.close().get();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is going away in any case
  }
}

}  // namespace sailor::net
