// Time limits that the operator and the trainer share, so that neither side gives up while the other one still waits.
#pragma once

#include <chrono>

namespace sailor {

// A worker or pod that has not answered for this long counts as unresponsive. This is the default of the flag
// --peer-timeout of both programs, and of `peerTimeoutSeconds` in the chart. A test checks that they are equal.
inline constexpr std::chrono::seconds kPeerTimeout{5};

// Before a planned change, workers receive state while the training continues. They end this after the given time. The
// operator gives up a joining pod after this time plus the time limit for the start of a pod.
inline constexpr std::chrono::minutes kStateStreamingLimit{4};

// How long before its end the notice of a node comes: GKE gives pods 15 s.
inline constexpr std::chrono::seconds kTerminationNotice{15};

// Workers leave an urgent change this long before a pod may be gone. They need the time to agree on the state and to
// send what was not streamed.
inline constexpr std::chrono::seconds kTimeToLeave{4};

// Limits on the operator's polls of an agent and on its other requests to an agent. Each covers a whole request, from
// connecting to the end of the answer.
inline constexpr std::chrono::milliseconds kPollTimeout{1000};
inline constexpr std::chrono::milliseconds kAgentRequestTimeout{5000};

// The limit on an agent's requests to the operator. An agent that exits waits for its current request first; this wait
// is part of the grace period of the pod.
inline constexpr std::chrono::milliseconds kCallbackTimeout{2000};

// An agent whose worker has failed answers until the operator has read its last report, but at most for this long. The
// kubelet needs about a second to notice that a container has ended; without the report, the pod seems lost meanwhile.
inline constexpr std::chrono::milliseconds kLastReportLimit{2000};

// The time after which an agent repeats a hint that the operator could not answer.
inline constexpr std::chrono::milliseconds kHintRetry{1000};

}  // namespace sailor
