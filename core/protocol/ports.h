// Ports at which an agent listens on the address of its pod. The operator passes them to the agent as flags and names
// them in every assignment. The operator's own ports are options of its chart; agents learn its address as a URL.
#pragma once

namespace sailor {

inline constexpr int kAgentPort = 7070;  // the agent's HTTP server
inline constexpr int kStorePort = 7071;  // the agent's rendezvous store

}  // namespace sailor
