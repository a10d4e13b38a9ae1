// Agent: one a pod. Serves the operator, hosts the rendezvous store, keeps one worker process per GPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "core/model/error.h"
#include "core/protocol/ports.h"
#include "core/protocol/timeouts.h"

namespace sailor::trainer {

struct AgentSettings {
  std::string program;  // this executable: workers are started from it
  std::string name;
  std::string host;
  int gpus = 1;
  int port = kAgentPort;
  int store_port = kStorePort;
  int threads = 1;  // of each worker
  std::chrono::seconds peer_timeout = kPeerTimeout;
  std::filesystem::path termination_log = "/dev/termination-log";  // written if its folder exists
};

// Runs until all its work is done or given away, or a worker fails; returns the exit status. The calling thread must
// have blocked SIGTERM and SIGINT before it started any thread.
Result<int> run_agent(const AgentSettings& settings);

}  // namespace sailor::trainer
