// Exit statuses of an agent's process. The operator reads them from the container's status in the pod.
#pragma once

namespace sailor {

inline constexpr int kExitDone = 0;      // the agent has finished, was released, or was told to stop
inline constexpr int kExitFailed = 1;    // a worker cannot continue, or has crashed
inline constexpr int kExitBadInput = 2;  // the command line is invalid, or the agent cannot listen at an address
inline constexpr int kExitWorkerUnresponsive = 3;  // a worker did not answer, so the agent killed it

}  // namespace sailor
