// CallbackServer: where agents send hints ("look now"). A hint carries no truth; see docs/protocol.md.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "planner/model/error.h"
#include "planner/model/ids.h"

namespace sailor {

class CallbackServer {
 public:
  // Hears of a job, and says whether it still needs its agents.
  using Hinted = std::function<bool(const JobKey&)>;

  // "http://127.0.0.1:8082"; throws std::exception if the address is taken.
  CallbackServer(const std::string& url, Hinted hinted);
  ~CallbackServer();
  CallbackServer(const CallbackServer&) = delete;
  CallbackServer& operator=(const CallbackServer&) = delete;

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
};

// The job that a hint names; an error says what is wrong with it.
Result<JobKey> job_of_hint(const std::string& body);

}  // namespace sailor
