// What the operator adds to a merged trainer pod so that it works on GKE and in a namespace that enforces the Pod
// Security level `restricted`. The job's template has the last word.
#pragma once

#include <string>

#include "operator/kube/object.h"

namespace sailor {

// The defaults of the pod's spec: runs as the image's own user, never as root, under the default seccomp profile; a
// memory-backed volume for /dev/shm, of which Kubernetes' own 64 MB are too few for NCCL; the Secret with the
// credentials of the job.
void add_pod_defaults(kube::Json& spec, const std::string& secret);

// The defaults of the trainer's container: no privileges, the two volumes, the path of GKE's driver, CPU and memory for
// `gpus` GPUs.
void add_container_defaults(kube::Json& container, int gpus);

// Drops the defaults that the template contradicts, so that the API server accepts the pod: its own requests if the
// template states limits only, no-root rules if it asks for root, our /dev/shm if it mounts its own. Gives the pod's
// volumes to the group of the trainer's image if the template mounts one that supports it.
void reconcile_defaults(kube::Json& spec, const kube::Json& pod_template);

}  // namespace sailor
