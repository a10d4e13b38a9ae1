// Caches: local copies of the API server's objects, which watches keep up to date. The observer builds observations
// from them. The stores drop large fields that the operator does not read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operator/kube/store.h"

namespace sailor {

// The tags of pods.
std::string job_tag(const JobKey& job);         // the pods with the label of a job of this name
std::string node_tag(const std::string& node);  // the pods that run on the node, or are pinned to it; "": on none
// The tag of events in Caches::scale_ups, Caches::karpenter_words and Caches::start_failures.
std::string pod_tag(const std::string& pod_uid);

struct Caches {
  // The operator runs the jobs of these namespaces; none: of all. Without queues, the caches of Kueue's objects stay
  // empty.
  explicit Caches(const std::vector<std::string>& namespaces = {}, bool has_queues = false);

  kube::Store jobs;
  kube::Store pods;  // the pods with the labels of Sailor in the watched namespaces, reduced to what the operator
                     // reads; they have the tags above
  kube::Store foreign_pods;  // all other pods that request GPUs, in any namespace, reduced to node and number of GPUs;
                             // tagged by node
  kube::Store nodes;         // all nodes, likewise; of those without an accelerator label only name and UID
  kube::Store pools;
  kube::Store priority_classes;
  kube::Store profiles;
  kube::Store records;          // the JobRecords; they have the tags of the nodes that they name
  kube::Store plan_maps;        // the ConfigMaps that show plans, without the plans
  kube::Store scale_ups;        // the Events of cluster-autoscaler about pods; they have the tag above
  kube::Store karpenter_words;  // those of Karpenter, likewise; a watch cannot select the Events of two sources
  kube::Store start_failures;   // the Events that say why pods do not start on their nodes (is_start_failure); likewise

  kube::Store workloads;         // of jobs, with the tag of the job
  kube::Store flavors;           // Kueue's ResourceFlavors
  kube::Store queue_priorities;  // Kueue's WorkloadPriorityClasses

  [[nodiscard]] bool are_synced() const;
};

}  // namespace sailor
