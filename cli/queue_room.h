// QueueRoom: how many GPUs a queue of Kueue has left for one job. Kueue decides; this repeats its arithmetic for one
// Workload: flavors in the order of the ClusterQueue, partial admission, and borrowing within a cohort. Preemption,
// admission checks, namespace selectors and the parents of cohorts are left out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/model/observation.h"

namespace sailor::cli {

// The GPUs of one flavor in a ClusterQueue.
struct FlavorRoom {
  std::string flavor;
  int quota = 0;  // nominalQuota
  int used = 0;
  int left = 0;  // with what the queue may borrow
};

struct QueueObjects {
  std::vector<kube::Object> cluster_queues;
  std::vector<kube::Object> workloads;
};

// What has quota in a ClusterQueue: "job team/a", or a Workload that belongs to no TrainingJob.
struct QuotaHolder {
  std::string name;
  int gpus = 0;
};

struct QueueAnswer {
  std::string queue;
  std::string cluster_queue;
  int asked = 0;
  int least = 0;
  int given = 0;  // 0: the job waits
  std::string flavor;
  std::vector<FlavorRoom> flavors;   // those that the job may use
  std::vector<QuotaHolder> holders;  // the one with most GPUs first
  std::string fault;  // why the queue gives nothing whatever its quota is; empty: there is no such reason
};

// Returns the GPUs of each flavor of the ClusterQueue, in its order.
std::vector<FlavorRoom> rooms_of(const kube::Json& cluster_queue, const QueueObjects& objects);

// Returns what the queue would give to the Workload that the operator would create. `observation` says which flavors
// the job may use.
QueueAnswer answer_of_queue(const Workload& asked, const kube::Json& local_queue, const QueueObjects& objects,
                            const Observation& observation);

// Returns the Workload as Kueue would admit it.
kube::Json admitted(const Workload& asked, const QueueAnswer& answer, Time now);

// A sentence that says what the queue gives, and what limits it.
std::string sentence_about(const QueueAnswer& answer);

}  // namespace sailor::cli
