#include "operator/health_server.h"

#include <cpprest/http_listener.h>

namespace sailor {
namespace {

namespace http = web::http;
using http::experimental::listener::http_listener;

}  // namespace

struct HealthServer::Listener {
  explicit Listener(const std::string& url) : server(web::uri(url)) {}
  http_listener server;
};

HealthServer::HealthServer(const std::string& url, std::function<bool()> is_alive, std::function<bool()> is_ready)
    : listener_(std::make_unique<Listener>(url)) {
  listener_->server.support(
      http::methods::GET, [is_alive = std::move(is_alive), is_ready = std::move(is_ready)](http::http_request request) {
        const std::string path = request.relative_uri().path();
        if (path != "/healthz" && path != "/readyz") {
          request.reply(http::status_codes::NotFound);
          return;
        }
        const bool is_well = path == "/healthz" ? is_alive() : is_ready();
        request.reply(is_well ? http::status_codes::OK : http::status_codes::ServiceUnavailable,
                      is_well ? "ok" : "not yet");
      });
  listener_->server.open().get();
}

HealthServer::~HealthServer() {
  try {
    listener_->server.close().get();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is going anyway
  }
}

}  // namespace sailor
