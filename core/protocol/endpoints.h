// URL paths of the requests between operator and agents. docs/protocol.md describes requests and answers.
#pragma once

#include <string>
#include <string_view>

namespace sailor {

// Served by each agent.
inline constexpr std::string_view kStatePath = "/v1/state";            // GET: an AgentReport
inline constexpr std::string_view kAssignmentPath = "/v1/assignment";  // PUT an Assignment
inline constexpr std::string_view kCallbackPath = "/v1/callback";      // PUT a CallbackAddress
inline constexpr std::string_view kHealthPath = "/healthz";            // GET: 200; the operator serves it too

// Served by the operator at its callback address.
inline constexpr std::string_view kHintsPath = "/v1/hints";    // POST a Hint
inline constexpr std::string_view kLeasesPath = "/v1/leases";  // POST a LeaseQuestion

// Statuses with a meaning of their own.
inline constexpr int kStatusConflict = 409;  // an agent already obeys a newer generation; a lease is not renewed
inline constexpr int kStatusGone = 410;      // the operator's answer to a hint: nothing needs this agent any more

}  // namespace sailor
