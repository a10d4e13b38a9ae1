// Changes: which changes of objects may lead to another decision, and about which jobs. The operator does not look at
// any job after another change, such as a node's heartbeat or the progress that it has written itself.
#pragma once

#include <cstdint>
#include <optional>

#include "operator/kube/object.h"

namespace sailor {

// In all functions, `before` is null if the object was added, and `now` if it was deleted.

// Returns whether anything but the progress in the status has changed.
bool changes_job(const kube::Json* before, const kube::Json* now);
// Returns whether anything but the status of a GpuPool has changed.
bool changes_pool(const kube::Json* before, const kube::Json* now);
// Returns whether any job could decide differently because of the node: its GPUs, labels, taints or readiness have
// changed, or somebody deletes it.
bool changes_capacity_of_node(const kube::Json* before, const kube::Json* now);
// Returns whether the pod uses GPUs that it did not use before, on any node, or no longer uses some.
bool changes_gpu_use(const kube::Json* before, const kube::Json* now);
// Returns whether the pod no longer uses GPUs that it used before.
bool frees_gpus(const kube::Json* before, const kube::Json* now);

// The other jobs that a change of a job concerns, because it no longer competes with them for free GPUs.
enum class ConcernedJobs : std::uint8_t {
  kNone,
  kWaiting,  // those that wait for GPUs: it is known now whether the job can start
  kAll,      // the job waits no longer, so those that train may take free GPUs
};
ConcernedJobs concerned_jobs(const kube::Json* before, const kube::Json* now);

// Returns the job that controls a pod or a record; nothing if no job does.
std::optional<JobKey> owner_of(const kube::Json& object);

}  // namespace sailor
