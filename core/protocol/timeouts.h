// Time limits that operator and trainer share, so that neither side gives up while the other one still waits.
#pragma once

#include <chrono>

namespace sailor {

// A worker or pod that has not answered for this long counts as unresponsive. This is the default of the flag
// --peer-timeout of both programs and of `peerTimeoutSeconds` in the chart, whose test compares the two.
inline constexpr std::chrono::seconds kPeerTimeout{5};

// A planned change waits at most this long for joining workers that receive state while the training goes on. The
// workers then end the state streaming. The operator gives up a joining pod after this time in addition to the limit
// for the start of a pod.
inline constexpr std::chrono::minutes kStateStreamingLimit{4};

// The operator's polls of an agent, and its other requests to it, each from the connection to the end of the answer.
inline constexpr std::chrono::milliseconds kPollTimeout{1000};
inline constexpr std::chrono::milliseconds kAgentRequestTimeout{5000};

// An agent's requests to the operator. An agent that ends waits for the request under way, within the grace period.
inline constexpr std::chrono::milliseconds kCallbackTimeout{2000};

}  // namespace sailor
