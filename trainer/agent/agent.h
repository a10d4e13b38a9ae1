// Agent: the main process of a trainer pod. It serves the operator over HTTP, hosts a rendezvous store, and supervises
// one worker process for each GPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "core/model/error.h"
#include "core/protocol/ports.h"
#include "core/protocol/timeouts.h"

namespace sailor::trainer {

struct AgentSettings {
  std::string program;  // the path of this executable, which the agent also starts as the worker
  std::string name;     // the pod's name
  std::string pod_uid;  // the pod's UID; empty: unknown
  std::string host;     // the pod's IP, where the operator and the workers of other pods connect
  int gpus = 1;         // number of workers
  int port = kAgentPort;
  int store_port = kStorePort;
  std::string device = "auto";                       // auto, cpu or gpu (DeviceChoice)
  int threads = 1;                                   // CPU threads of each worker
  std::chrono::seconds peer_timeout = kPeerTimeout;  // a pod or worker is unresponsive after this time
  // Of core/protocol/credentials.h. Empty: the agent serves HTTP instead of HTTPS, and obeys whoever reaches it.
  std::filesystem::path credentials;
  std::filesystem::path termination_log = "/dev/termination-log";  // written if its folder exists
};

// Runs until all workers have finished or have handed over their state, until the operator dismisses a pod that was
// told to stop, or until a worker fails. Returns the exit status of the process (see core/protocol/exit_status.h). The
// caller must have blocked SIGTERM, SIGINT and SIGUSR1 before it started any thread.
Result<int> run_agent(const AgentSettings& settings);

}  // namespace sailor::trainer
