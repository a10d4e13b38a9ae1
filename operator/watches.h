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
#include "operator/reconcile/observe/job_index.h"
#include "operator/reconcile/work_queue.h"

namespace sailor {

class Watches {
 public:
  // `profiles_changed` is called when a ModelProfile has changed. Make it after `jobs`, which is the index of the
  // caches' jobs.
  Watches(kube::Api& api, Caches& caches, const JobIndex& jobs, WorkQueue& queue,
          std::function<void()> profiles_changed);

  // Watches the jobs, their records, pods and ConfigMaps of these namespaces, or of all if there are none. Also watches
  // the cluster-scoped objects, and in all namespaces the pods that use GPUs. `kueue_version` is that of
  // OperatorSettings.
  void start(const std::vector<std::string>& namespaces, const std::string& kueue_version);
  void stop();  // stops all watches and waits for their threads
  void queue_all_jobs();

 private:
  void queue_jobs_of_changed_objects();  // the job itself, and what belongs to one
  void queue_jobs_of_changed_cluster(std::function<void()> profiles_changed);
  void queue_routinely(const std::vector<JobKey>& jobs);
  void queue_jobs_that_may_grow() { queue_routinely(jobs_.all()); }
  void queue_jobs_that_may_use(const kube::Json& node);
  void queue_jobs_that_lose(const kube::Json& node);  // it takes no pods any more, or others use its GPUs
  void queue_jobs_concerned_by_node(const kube::Json* before, const kube::Json* now);  // its capacity has changed
  void queue_jobs_concerned_by_freed_gpus(const kube::Json& pod);                      // that the pod has used
  void queue_jobs_concerned_by(const kube::Json* before, const kube::Json* now);       // by a change of another job
  void queue_jobs_of(const std::string& node);  // those that have pods on it, or may have, or claim its GPUs
  [[nodiscard]] bool can_grow(const PoolKey& pool) const;
  void queue_owners(const kube::Json* before, const kube::Json* now);
  void watch_queues(const std::vector<std::string>& namespaces, const std::string& version);
  void watch(const kube::Resource& resource, kube::Selection selection, kube::Store& store);

  kube::Api& api_;
  Caches& caches_;
  const JobIndex& jobs_;
  WorkQueue& queue_;
  std::list<kube::Reflector> reflectors_;
  std::vector<std::jthread> threads_;  // declared last, because the threads use all other members
};

}  // namespace sailor
