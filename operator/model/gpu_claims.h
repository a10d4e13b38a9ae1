// What the records of jobs say about the cluster: the GPUs that they claim before their pods exist, and the pools that
// gave no node.
#pragma once

#include "operator/kube/object.h"
#include "operator/model/cluster_view.h"
#include "operator/model/record.h"

namespace sailor {

// Returns whether a job may use GPUs: it has not ended, is not suspended and is not being deleted.
bool may_use_gpus(const kube::Json& job);

// Adds what a record says about the cluster: its claims, and the pools that gave no node. The pods of a committed
// generation exist and are counted, so it claims nothing.
void add_record(const GenerationRecord& record, ClusterObjects& objects);

}  // namespace sailor
