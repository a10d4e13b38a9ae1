// Reflector: keeps a store equal to what the API server has, by a list and a watch that is taken up again and again.
#pragma once

#include <stop_token>
#include <string>

#include "operator/kube/api.h"
#include "operator/kube/store.h"

namespace sailor::kube {

struct ReflectorHooks {
  std::function<void(const ApiError&)> failed = [](const ApiError&) {};
  // Waits, shorter if stopped; absent: really.
  std::function<void(std::chrono::milliseconds, std::stop_token)> sleep;
};

class Reflector {
 public:
  Reflector(Api& api, Resource resource, Selection selection, Store& store, ReflectorHooks hooks = {});

  void run(std::stop_token stop);  // returns after a stop
  // One list, if none is valid, and one watch to its end. False: it failed and the caller should wait a little.
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
  std::string version_;  // from which the next watch goes on; empty: list first
  long events_ = 0;
};

void interruptible_sleep(std::chrono::milliseconds time, std::stop_token stop);

}  // namespace sailor::kube
