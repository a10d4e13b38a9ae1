// URL paths of the requests between the operator and the agents. docs/protocol.md describes the requests and their
// answers.
#pragma once

#include <string>
#include <string_view>

namespace sailor {

// Served by each agent.
inline constexpr std::string_view kStatePath = "/v1/state";            // GET: an AgentReport
inline constexpr std::string_view kAssignmentPath = "/v1/assignment";  // PUT an Assignment
inline constexpr std::string_view kCallbackPath = "/v1/callback";      // PUT a CallbackAddress
inline constexpr std::string_view kClaimPath = "/v1/claim";            // PUT a FolderClaim
// GET: status 200; the operator serves this path too.
inline constexpr std::string_view kHealthPath = "/healthz";

// Served by the operator at its callback address.
inline constexpr std::string_view kHintsPath = "/v1/hints";    // POST a Hint
inline constexpr std::string_view kLeasesPath = "/v1/leases";  // POST a LeaseQuestion

// HTTP statuses with a special meaning.
// From an agent: it has accepted a newer generation; from the operator: it does not renew the lease.
inline constexpr int kStatusConflict = 409;
// From the operator, in answer to a hint: the job does not need this agent any more.
inline constexpr int kStatusGone = 410;
// From the operator: it cannot answer, because it does not lead, or does not know the job yet. From an agent: it has
// not finished the claim before. Ask again.
inline constexpr int kStatusRetry = 503;

}  // namespace sailor
