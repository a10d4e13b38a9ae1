// How an agent's process ends: the exit code of its container, which the operator reads from the pod's status.
#pragma once

namespace sailor {

inline constexpr int kExitDone = 0;    // finished, released, or told to stop
inline constexpr int kExitFailed = 1;  // a worker cannot go on, or has crashed
// 2: its command line, or an address that it is to listen at, is of no use
inline constexpr int kExitWorkerUnresponsive = 3;  // a worker gave no answer, and was ended for it

}  // namespace sailor
