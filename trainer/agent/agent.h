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
  std::string program;  // the path of this executable, which also is the worker's
  std::string name;
  std::string host;
  int gpus = 1;
  int port = kAgentPort;
  int store_port = kStorePort;
  int threads = 1;  // of each worker
  std::chrono::seconds peer_timeout = kPeerTimeout;
  std::filesystem::path termination_log = "/dev/termination-log";  // written if its folder exists
};

// Runs until all work is done or handed over, or until a worker fails. Returns the exit status of the process (see
// core/protocol/exit_status.h). The caller must have blocked SIGTERM and SIGINT before it started any thread.
Result<int> run_agent(const AgentSettings& settings);

}  // namespace sailor::trainer
