#include "operator/agents/callback_routes.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/protocol/credentials.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/hint.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

constexpr int kNoContent = 204;
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;

// An agent speaks for its own job only.
std::optional<net::HttpAnswer> refusal_of(const net::HttpCall& call, const JobKey& job) {
  if (call.client_uri == job_uri(job)) return std::nullopt;
  return net::HttpAnswer{kForbidden, fmt::format("only an agent of job {} may ask this", to_string(job))};
}

net::HttpAnswer take_hint(const net::HttpCall& call, const CallbackHooks& hooks) {
  const auto hint = read_message(call.body, "a hint").and_then(hint_from_json);
  if (!hint) return {kBadRequest, hint.error().message};
  if (auto refusal = refusal_of(call, hint->job)) return *std::move(refusal);
  switch (hooks.hinted(*hint)) {
    case HintAnswer::kNeeded:
      return {kNoContent};
    case HintAnswer::kDismissed:
      return {kStatusGone};
    case HintAnswer::kUnknown:
      break;
  }
  return {kStatusRetry, "this operator does not know the job; ask again"};
}

net::HttpAnswer take_lease_question(const net::HttpCall& call, const CallbackHooks& hooks) {
  const auto question = read_message(call.body, "a lease question").and_then(lease_question_from_json);
  if (!question) return {kBadRequest, question.error().message};
  if (auto refusal = refusal_of(call, question->job)) return *std::move(refusal);
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
  return {{"POST", std::string(kHintsPath), [hooks](const net::HttpCall& call) { return take_hint(call, hooks); }},
          {"POST", std::string(kLeasesPath),
           [hooks](const net::HttpCall& call) { return take_lease_question(call, hooks); }}};
}

}  // namespace sailor
