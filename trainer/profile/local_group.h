// Workers of one group as threads of this process, over real communication on the loopback.
#pragma once

#include <functional>
#include <string>

#include "trainer/comm/group.h"

namespace sailor::trainer {

struct LocalGroup {
  std::string host = "127.0.0.1";
  int port = 7079;  // of the store at which the threads meet
  int size = 1;
  int threads = 1;  // that each worker computes with
};

// Runs `work` once a worker and returns when all are done. Throws what the first of them threw.
void in_local_group(const LocalGroup& local, const std::function<void(int rank, Group& group)>& work);

}  // namespace sailor::trainer
