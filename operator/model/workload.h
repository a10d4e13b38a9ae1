// Workload: a request of a job to a queue of Kueue, and what Kueue has answered. A job in a queue has one Workload for
// the GPUs that it starts with, and further ones for GPUs that it grows by, so Kueue can take back a part of its GPUs.
// One pod of a Workload's pod set stands for one GPU, because the planner chooses how GPUs are grouped in pods.
// docs/queues.md describes the whole.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/model/node_labels.h"

namespace sailor {

// The labels of a TrainingJob that name its queue, and its class of priority in queues.
inline constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";
inline constexpr const char* kQueuePriorityLabel = "kueue.x-k8s.io/priority-class";

// The label of a Workload that has the UID of its job.
inline constexpr const char* kKueueJobLabel = "kueue.x-k8s.io/job-uid";

// What the operator asks a queue for.
struct WorkloadRequest {
  std::string queue;
  int priority = 0;
  int gpus = 0;
  int least_gpus = 0;  // Kueue may give fewer than `gpus`, but not fewer than this
  // The part of a pod spec that says which flavors of the queue will do: tolerations, nodeSelector and affinity.
  kube::Json scheduling = kube::Json::object();
};

struct Workload {
  kube::Object object;
  std::string name;
  std::string queue;
  int least_gpus = 0;            // of the request
  int asked_gpus = 0;            // of the request
  int admitted_gpus = 0;         // what the queue has reserved
  int returned_gpus = 0;         // of asked_gpus, those that the job does not need (status.reclaimablePods)
  std::string flavor;            // the ResourceFlavor of the GPUs; empty: none is reserved
  bool is_active = true;         // false: Kueue does not look at it
  bool has_reservation = false;  // the queue keeps quota for it
  bool is_admitted = false;      // the job may use the GPUs, unless it is evicted
  std::optional<Time> admitted_at;
  bool is_evicted = false;  // Kueue wants the GPUs back, if it has a reservation
  bool is_finished = false;
  bool is_deleting = false;
  std::string eviction;  // Kueue's words, if it is evicted
  std::string waiting;   // Kueue's words about why it has no reservation; empty: it has one, or they are unknown

  // Returns how many GPUs the queue keeps for the job, and how many of them the job may use now.
  [[nodiscard]] int reserved_gpus() const;
  [[nodiscard]] int gpus() const;
  [[nodiscard]] bool is_pending() const { return !has_reservation && !is_finished && !is_deleting; }
  // Returns whether Kueue waits until the job no longer uses the GPUs.
  [[nodiscard]] bool must_give_back() const { return is_evicted && has_reservation && !is_finished && !is_deleting; }
};

Workload workload_of(kube::Object object);

// The number of a Workload among those of its job, from 1; 0: its name is not of the operator's making.
int number_of(const Workload& workload, const JobKey& job, const std::string& job_uid);

// Returns a new Workload in this version of Kueue's API, "v1beta1" or later.
kube::Json new_workload(const WorkloadRequest& request, const std::string& version, const JobKey& job,
                        const std::string& job_uid, int number);

// The functions below return the object as it is to be written: Kueue's fields stay, because Kueue writes them too.

// Changes what is asked for. Kueue accepts this while there is no reservation.
kube::Json with_request(const Workload& workload, const WorkloadRequest& request);
// Returns whether with_request() would change nothing.
bool asks_for(const Workload& workload, const WorkloadRequest& request);

// Gives all GPUs back after an eviction, so that Kueue queues the Workload again.
kube::Json without_reservation(const Workload& workload, Time now);
// Gives back the GPUs beyond `needed`. They do not come back before the next admission.
kube::Json with_returned(const Workload& workload, int needed);
// Asks no longer, because the planner has found no plan for the GPUs that the queue gave. The annotation keeps for
// which metadata.generation of the job that is so.
kube::Json as_useless(const Workload& workload, std::int64_t spec_generation);
// Returns the number that as_useless() has kept, while the Workload is inactive; nothing if there is none.
std::optional<std::int64_t> useless_for_generation(const Workload& workload);
// Says whether pods run on the GPUs. Kueue evicts a Workload for which this takes too long, if it is told to.
kube::Json with_pods_ready(const Workload& workload, bool are_ready, Time now);
// Returns whether with_pods_ready() would change nothing.
bool says_pods_ready(const Workload& workload, bool are_ready);
kube::Json as_finished(const Workload& workload, bool has_succeeded, const std::string& message, Time now);

// The nodes and tolerations of a ResourceFlavor.
struct Flavor {
  Labels labels;           // the nodes of the flavor have all of these
  kube::Json tolerations;  // pods on these nodes have them; a list
};
Flavor flavor_of(const kube::Json& resource_flavor);

// The queue of a job, and what it has given.
struct QueueView {
  std::string name;
  int priority = 0;                       // of the job in the queue
  std::string fault;                      // why the operator cannot ask the queue; empty: it can
  std::vector<Workload> workloads;        // of the job, in ascending order of their numbers; without finished ones
  std::map<std::string, Flavor> flavors;  // by name
};

}  // namespace sailor
