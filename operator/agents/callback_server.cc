#include "operator/agents/callback_server.h"

#include <map>

#include <cpprest/http_listener.h>

#include "core/model/json_reader.h"

namespace sailor {
namespace {

namespace http = web::http;
using http::experimental::listener::http_listener;

constexpr std::size_t kLargestBody = 16U << 10U;

struct Answer {
  http::status_code status;
  std::string text = {};
};

using Handler = std::function<Answer(const std::string& body)>;

Answer take_hint(const std::string& body, const CallbackHooks& hooks) {
  const auto job = job_of_hint(body);
  if (!job) return {http::status_codes::BadRequest, job.error().message};
  return {hooks.hinted(*job) ? http::status_codes::NoContent : http::status_codes::Gone};
}

Answer take_lease_question(const std::string& body, const CallbackHooks& hooks) {
  const auto question = lease_question_from(body);
  if (!question) return {http::status_codes::BadRequest, question.error().message};
  if (hooks.renews(*question)) return {http::status_codes::NoContent};
  return {http::status_codes::Conflict, "the lease is not renewed"};
}

void answer(http::http_request request, const std::map<std::string, Handler>& handlers) {
  const auto handler = handlers.find(request.relative_uri().path());
  if (handler == handlers.end()) {
    request.reply(http::status_codes::NotFound);
    return;
  }
  if (request.headers().content_length() > kLargestBody) {
    request.reply(http::status_codes::RequestEntityTooLarge, "a body is at most 16 KiB");
    return;
  }
  request.extract_utf8string(true).then([request, handle = handler->second](const pplx::task<std::string>& body) {
    try {
      const Answer answer = handle(body.get());
      request.reply(answer.status, answer.text);
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

CallbackServer::CallbackServer(const std::string& url, CallbackHooks hooks)
    : listener_(std::make_unique<Listener>(url)) {
  const std::map<std::string, Handler> handlers = {
      {"/v1/hints", [hooks](const std::string& body) { return take_hint(body, hooks); }},
      {"/v1/leases", [hooks](const std::string& body) { return take_lease_question(body, hooks); }}};
  listener_->server.support(http::methods::POST,
                            [handlers](const http::http_request& request) { answer(request, handlers); });
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
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return job;
}

Result<LeaseQuestion> lease_question_from(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kInvalidArgument, "a lease is asked for with a JSON object");
  JsonReader reader(json, "lease");
  LeaseQuestion question{{reader.required<std::string>("namespace"), reader.required<std::string>("job")},
                         reader.required<std::string>("jobUid"),
                         reader.required<std::int64_t>("generation")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return question;
}

}  // namespace sailor
