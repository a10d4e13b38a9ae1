// Reflector: keeps a store equal to a collection of the API server. It lists the collection once and then watches it. A
// watch that ends is followed by another one; a new list is needed only if the server no longer has the history in
// between.
#pragma once

#include <stop_token>
#include <string>

#include "operator/kube/api.h"
#include "operator/kube/store.h"

namespace sailor::kube {

struct ReflectorHooks {
  std::function<void(const ApiError&)> failed = [](const ApiError&) {};  // called when a list or a watch has failed
  // Called to wait after a failure, until the time has passed or a stop is requested; empty: interruptible_sleep().
  std::function<void(std::chrono::milliseconds, std::stop_token)> sleep;
};

class Reflector {
 public:
  Reflector(Api& api, Resource resource, Selection selection, Store& store, ReflectorHooks hooks = {});

  void run(std::stop_token stop);  // lists and watches until a stop is requested
  // Lists the collection if there is no resourceVersion to continue from, then watches it until the watch ends. Returns
  // false if the caller must wait before the next attempt, because this one failed or its watch ended at once.
  bool run_once(std::stop_token stop);

 private:
  bool relist();
  void take(WatchEvent event);
  void note_failure(const ApiError& error);

  Api& api_;
  Resource resource_;
  Selection selection_;
  Store& store_;
  ReflectorHooks hooks_;
  std::string version_;  // the resourceVersion from which the next watch continues; empty: a list comes first
  std::chrono::milliseconds retry_after_{0};  // the least wait that the server has asked for
  long events_ = 0;                           // the number of events received, for comparison before and after a watch
};

// Returns after this time, or as soon as a stop is requested.
void interruptible_sleep(std::chrono::milliseconds time, std::stop_token stop);

}  // namespace sailor::kube
