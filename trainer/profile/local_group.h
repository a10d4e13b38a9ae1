// Runs the workers of one group as threads of this process, for measurements. By default they communicate over the
// loopback interface.
#pragma once

#include <functional>
#include <string>

#include "trainer/comm/group.h"

namespace sailor::trainer {

struct LocalGroupOptions {
  std::string host = "127.0.0.1";
  int port = 7079;  // port of the rendezvous store
  int size = 1;     // number of workers
  int threads = 1;  // CPU threads that each worker computes with
};

// Runs `work` once for each worker and returns when all workers are done. Throws the first exception of a worker.
void run_local_group(const LocalGroupOptions& options, const std::function<void(int rank, Group& group)>& work);

}  // namespace sailor::trainer
