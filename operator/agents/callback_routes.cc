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
  switch (hooks.hinted(hint->job)) {
    case HintAnswer::kNeeded:
      return {kNoContent};
    case HintAnswer::kDismissed:
      return {kStatusGone};
    case HintAnswer::kUnknown:
      break;
  }
  return {kStatusRetry, "this operator does not know the job; ask again"};
}

net::HttpAnswer take_lease_question(const std::string& body, const CallbackHooks& hooks) {
  const auto question = read_message(body, "a lease question").and_then(lease_question_from_json);
  if (!question) return {kBadRequest, question.error().message};
  switch (hooks.renews(*question)) {
    case LeaseAnswer::kRenewed:
      return {kNoContent};
    case LeaseAnswer::kRefused:
      return {kStatusConflict, "the lease is not renewed"};
    case LeaseAnswer::kUnknown:
      break;
  }
  return {kStatusRetry, "this operator does not lead, or does not know the job; ask again"};
}

}  // namespace

std::vector<net::Route> callback_routes(const CallbackHooks& hooks) {
  return {{"POST", std::string(kHintsPath), [hooks](const net::HttpCall& call) { return take_hint(call.body, hooks); }},
          {"POST", std::string(kLeasesPath),
           [hooks](const net::HttpCall& call) { return take_lease_question(call.body, hooks); }}};
}

}  // namespace sailor
