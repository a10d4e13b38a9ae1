#include "operator/agents/callback_server.h"

#include <map>

#include <cpprest/http_listener.h>

#include "core/protocol/endpoints.h"
#include "core/protocol/hint.h"
#include "core/protocol/limits.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

namespace http = web::http;
using http::experimental::listener::http_listener;

struct Answer {
  http::status_code status;
  std::string text = {};
};

using Handler = std::function<Answer(const std::string& body)>;

Answer take_hint(const std::string& body, const CallbackHooks& hooks) {
  const auto hint = read_message(body, "a hint").and_then(hint_from_json);
  if (!hint) return {http::status_codes::BadRequest, hint.error().message};
  return {hooks.hinted(hint->job) ? http::status_codes::NoContent : http::status_codes::Gone};
}

Answer take_lease_question(const std::string& body, const CallbackHooks& hooks) {
  const auto question = read_message(body, "a lease question").and_then(lease_question_from_json);
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
  if (request.headers().content_length() > kLargestCallback) {
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
      {std::string(kHintsPath), [hooks](const std::string& body) { return take_hint(body, hooks); }},
      {std::string(kLeasesPath), [hooks](const std::string& body) { return take_lease_question(body, hooks); }}};
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

}  // namespace sailor
