// Agent: one a pod. Serves the operator, hosts the rendezvous store, keeps one worker process per GPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "core/model/error.h"

namespace sailor::trainer {

struct AgentSettings {
  std::string program;  // this executable: workers are started from it
  std::string name;
  std::string host;
  int gpus = 1;
  int port = 7070;
  int store_port = 7071;
  int threads = 1;  // of each worker
  std::chrono::seconds peer_timeout{10};
  std::filesystem::path termination_log = "/dev/termination-log";  // written if its folder exists
};

// Runs until all its work is done or given away, or a worker fails; returns the exit status. The calling thread must
// have blocked SIGTERM and SIGINT before it started any thread.
Result<int> run_agent(const AgentSettings& settings);

}  // namespace sailor::trainer
