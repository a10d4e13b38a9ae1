#include "operator/agents/callback_routes.h"

#include <string>

#include "core/protocol/endpoints.h"
#include "core/protocol/hint.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

constexpr int kNoContent = 204;
constexpr int kBadRequest = 400;

net::HttpAnswer take_hint(const std::string& body, const CallbackHooks& hooks) {
  const auto hint = read_message(body, "a hint").and_then(hint_from_json);
  if (!hint) return {kBadRequest, hint.error().message};
  return {hooks.hinted(hint->job) ? kNoContent : kStatusGone};
}

net::HttpAnswer take_lease_question(const std::string& body, const CallbackHooks& hooks) {
  const auto question = read_message(body, "a lease question").and_then(lease_question_from_json);
  if (!question) return {kBadRequest, question.error().message};
  if (hooks.renews(*question)) return {kNoContent};
  return {kStatusConflict, "the lease is not renewed"};
}

}  // namespace

std::vector<net::Route> callback_routes(const CallbackHooks& hooks) {
  return {{"POST", std::string(kHintsPath), [hooks](const std::string& body) { return take_hint(body, hooks); }},
          {"POST", std::string(kLeasesPath),
           [hooks](const std::string& body) { return take_lease_question(body, hooks); }}};
}

}  // namespace sailor
