// Watches: keeps the caches equal to the API server's objects, and queues the jobs that a change may concern.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "operator/kube/api.h"
#include "operator/kube/reflector.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/work_queue.h"

namespace sailor {

class Watches {
 public:
  // `profiles_changed` is called when a ModelProfile has changed.
  Watches(kube::Api& api, Caches& caches, WorkQueue& queue, std::function<void()> profiles_changed);

  // Watches the jobs, pods and ConfigMaps of this namespace, or of all namespaces if it is empty, and the
  // cluster-scoped objects.
  void start(const std::string& namespace_name);
  void stop();  // stops all watches and waits for their threads
  void queue_all_jobs();

 private:
  void queue_changed_jobs(std::function<void()> profiles_changed);
  void watch(const kube::Resource& resource, kube::Selection selection, kube::Store& store);

  kube::Api& api_;
  Caches& caches_;
  WorkQueue& queue_;
  std::list<kube::Reflector> reflectors_;
  std::vector<std::jthread> threads_;  // declared last, because the threads use all other members
};

}  // namespace sailor
