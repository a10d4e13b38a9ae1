// CallbackServer: where agents send hints ("look now"), which carry no truth, and ask for leases; see docs/protocol.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/model/error.h"
#include "core/model/ids.h"

namespace sailor {

// An agent's question whether its generation may train on.
struct LeaseQuestion {
  JobKey job;
  std::string job_uid;
  std::int64_t generation = 0;
  friend bool operator==(const LeaseQuestion&, const LeaseQuestion&) = default;
};

struct CallbackHooks {
  std::function<bool(const JobKey&)> hinted;         // hears of a job; whether it still needs its agents
  std::function<bool(const LeaseQuestion&)> renews;  // whether the lease is renewed
};

class CallbackServer {
 public:
  // "http://127.0.0.1:8082"; throws std::exception if the address is taken.
  CallbackServer(const std::string& url, CallbackHooks hooks);
  ~CallbackServer();
  CallbackServer(const CallbackServer&) = delete;
  CallbackServer& operator=(const CallbackServer&) = delete;

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
};

// What they say; an error says what is wrong with them.
Result<JobKey> job_of_hint(const std::string& body);
Result<LeaseQuestion> lease_question_from(const std::string& body);

}  // namespace sailor
