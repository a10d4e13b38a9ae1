#include "operator/agents/callback_server.h"

#include <cpprest/http_listener.h>

#include "planner/model/json_reader.h"

namespace sailor {
namespace {

namespace http = web::http;
using http::experimental::listener::http_listener;

constexpr std::size_t kLargestHint = 16U << 10U;

http::status_code heard(const JobKey& job, const CallbackServer::Hinted& hinted) {
  return hinted(job) ? http::status_codes::NoContent : http::status_codes::Gone;
}

void answer(http::http_request request, const CallbackServer::Hinted& hinted) {
  if (request.relative_uri().path() != "/v1/hints") {
    request.reply(http::status_codes::NotFound);
    return;
  }
  if (request.headers().content_length() > kLargestHint) {
    request.reply(http::status_codes::RequestEntityTooLarge, "a hint is at most 16 KiB");
    return;
  }
  request.extract_utf8string(true).then([request, hinted](const pplx::task<std::string>& body) {
    try {
      const auto job = job_of_hint(body.get());
      request.reply(job ? heard(*job, hinted) : http::status_codes::BadRequest, job ? "" : job.error().message);
    } catch (const std::exception& error) {  // a body that broke off
      request.reply(http::status_codes::BadRequest, error.what());
    }
  });
}

}  // namespace

struct CallbackServer::Listener {
  explicit Listener(const std::string& url) : server(web::uri(url)) {}
  http_listener server;
};

CallbackServer::CallbackServer(const std::string& url, Hinted hinted) : listener_(std::make_unique<Listener>(url)) {
  listener_->server.support(http::methods::POST, [hinted = std::move(hinted)](const http::http_request& request) {
    answer(request, hinted);
  });
  listener_->server.open().get();
}

CallbackServer::~CallbackServer() {
  try {
    listener_->server.close().get();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is going anyway
  }
}

Result<JobKey> job_of_hint(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kInvalidArgument, "a hint is a JSON object; see docs/protocol.md");
  JsonReader reader(json, "hint");
  JobKey job{reader.required<std::string>("namespace"), reader.required<std::string>("job")};
  if (reader.error()) return tl::unexpected(*reader.error());
  return job;
}

}  // namespace sailor
