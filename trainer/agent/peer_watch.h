// PeerWatch: asks another pod of the generation, again and again, whether it is there.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "planner/model/assignment.h"
#include "trainer/agent/pulse.h"
#include "trainer/agent/silence.h"

namespace sailor::trainer {

class PeerWatch {
 public:
  struct News {
    std::int64_t generation = 0;
    std::string pod;
    bool is_silent = false;  // it has given no answer for the time-out; false: it answers again
  };
  PeerWatch(std::chrono::milliseconds timeout, std::function<void(const News&)> tell);  // on the watch's thread

  void watch(std::int64_t generation, std::optional<AgentAddress> peer);  // from now on; nothing: nobody

 private:
  void ask();

  const std::chrono::milliseconds period_;
  const std::function<void(const News&)> tell_;
  std::mutex mutex_;
  std::int64_t generation_ = 0;
  std::optional<AgentAddress> peer_;
  Silence silence_;
  Pulse pulse_;  // the last to begin: it uses the others
};

}  // namespace sailor::trainer
