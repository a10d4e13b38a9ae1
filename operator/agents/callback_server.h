// CallbackServer: where agents send hints ("look now"), which carry no truth, and ask for leases; see docs/protocol.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/model/ids.h"
#include "core/protocol/lease.h"

namespace sailor {

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

}  // namespace sailor
