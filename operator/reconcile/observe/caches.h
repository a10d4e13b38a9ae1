// Caches: local copies of the API server's objects, which watches keep up to date. The observer builds observations
// from them. The stores drop large fields that the operator does not read.
#pragma once

#include <functional>

#include "operator/kube/store.h"

namespace sailor {

struct Caches {
  Caches();

  kube::Store jobs;
  kube::Store pods;          // the pods with the labels of Sailor
  kube::Store foreign_pods;  // all other pods that request GPUs, reduced to their node and number of GPUs
  kube::Store nodes;         // the nodes with an accelerator label
  kube::Store pools;
  kube::Store profiles;
  kube::Store records;  // the ConfigMaps with generation records

  [[nodiscard]] bool are_synced() const;
};

}  // namespace sailor
