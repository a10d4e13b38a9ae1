#include "trainer/agent/http_server.h"

// The library's macro U would break other headers.
#define _TURN_OFF_PLATFORM_STRING  // NOLINT(bugprone-reserved-identifier)
#include <cpprest/http_client.h>
#include <cpprest/http_listener.h>
#include <fmt/format.h>
#include <pplx/threadpool.h>

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kPostTimeout{2};
constexpr std::size_t kThreads = 4;  // the library's default of 40 is slower

void use_few_threads() {
  static const bool is_first = [] {
    crossplat::threadpool::initialize_with_threads(kThreads);
    return true;
  }();
  (void)is_first;
}

void answer(web::http::http_request request, const HttpServer::Handler& handler, const std::string& body) {
  HttpAnswer result;
  try {
    result = handler({request.method(), request.relative_uri().path(), body});
  } catch (const std::exception& error) {
    result = {500, {{"error", error.what()}}};
  }
  const auto text = result.body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  request.reply(static_cast<web::http::status_code>(result.status), text, "application/json");
}

Result<int> status_of(const std::string& url, const web::http::http_request& request,
                      std::chrono::milliseconds timeout) {
  use_few_threads();
  try {
    web::http::client::http_client_config config;
    config.set_timeout(timeout);
    web::http::client::http_client client(web::uri(url), config);
    return client.request(request).get().status_code();
  } catch (const std::exception& error) {
    return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", url, error.what()));
  }
}

}  // namespace

struct HttpServer::Impl {
  std::unique_ptr<web::http::experimental::listener::http_listener> listener;
};

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}

HttpServer::~HttpServer() {
  if (!impl_->listener) return;
  try {
    impl_->listener->close().wait();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it goes away
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& host, int port, Handler handler) {
  use_few_threads();
  std::unique_ptr<HttpServer> server(new HttpServer);
  try {
    const web::uri uri(fmt::format("http://{}:{}/", host, port));
    server->impl_->listener = std::make_unique<web::http::experimental::listener::http_listener>(uri);
    server->impl_->listener->support([handler = std::move(handler)](web::http::http_request request) {
      request.extract_string(true).then([request, handler](const pplx::task<std::string>& body) {
        try {
          answer(request, handler, body.get());
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the client has gone away
        }
      });
    });
    server->impl_->listener->open().wait();
  } catch (const std::exception& error) {
    server->impl_->listener.reset();
    return fail(ErrorCode::kUnavailable, fmt::format("listening on {}:{} for the operator: {}; free the port or choose "
                                                     "another with --port",
                                                     host, port, error.what()));
  }
  return server;
}

std::string url_at(const std::string& callback, const std::string& path) {
  return (callback.ends_with('/') ? callback.substr(0, callback.size() - 1) : callback) + path;
}

Result<int> post_json(const std::string& url, const nlohmann::json& body) {
  web::http::http_request request(web::http::methods::POST);
  request.set_body(body.dump(), "application/json");
  return status_of(url, request, kPostTimeout);
}

Result<int> get_status(const std::string& url, std::chrono::milliseconds timeout) {
  return status_of(url, web::http::http_request(web::http::methods::GET), timeout);
}

}  // namespace sailor::trainer
