// Caches: the stores that observations are made from, each with only the fields that are read.
#pragma once

#include <functional>

#include "operator/kube/store.h"

namespace sailor {

struct Caches {
  Caches();

  kube::Store jobs;
  kube::Store pods;          // of our jobs
  kube::Store foreign_pods;  // that ask for GPUs and are not ours
  kube::Store nodes;         // with GPUs
  kube::Store pools;
  kube::Store profiles;
  kube::Store records;  // our ConfigMaps

  [[nodiscard]] bool are_synced() const;
};

}  // namespace sailor
