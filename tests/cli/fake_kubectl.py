"""A cluster of which a kubectl that answers from files tells the program."""

import json
import os
import pathlib
import stat
import subprocess

from program import SAILOR, ProgramTest

# Writes its arguments to a file, and answers from the file that the first one after the options that match it names.
FAKE = """#!/bin/sh
printf '%s\\n' "$*" >> "$FAKE_KUBECTL/calls"
forbidden() { echo 'Error from server (Forbidden): it is forbidden' >&2; exit 1; }
for word in $FORBIDDEN; do case "$*" in *"get $word"*) forbidden ;; esac; done
case "$*" in
  *"get trainingjobs.sailor.dev missing"*) echo 'Error from server (NotFound): trainingjobs.sailor.dev "missing" not found' >&2; exit 1 ;;
  *"get trainingjobs.sailor.dev unreachable"*)
    echo 'E1129 15:09:33.048534   23797 memcache.go:265] "Unhandled Error" err="connection refused"' >&2
    echo 'The connection to the server a:6443 was refused - did you specify the right host or port?' >&2
    exit 1 ;;
  *"get trainingjobs.sailor.dev"*) cat "$FAKE_KUBECTL/jobs.json" ;;
  *"get jobrecords"*) cat "$FAKE_KUBECTL/records.json" ;;
  *"get configmaps --all-namespaces"*) cat "$FAKE_KUBECTL/network.json" ;;
  *"get deployments"*) cat "$FAKE_KUBECTL/operators.json" ;;
  *"get configmap"*) cat "$FAKE_KUBECTL/plan.json" ;;
  *"get nodes"*) cat "$FAKE_KUBECTL/nodes.json" ;;
  *"get gpupools"*) cat "$FAKE_KUBECTL/pools.json" ;;
  *"config view"*) echo '{"contexts": [{"context": {"namespace": "team"}}]}' ;;
  *"get priorityclasses"*) cat "$FAKE_KUBECTL/priorities.json" ;;
  *"get localqueues"*) cat "$FAKE_KUBECTL/localqueues.json" ;;
  *"get clusterqueues"*) cat "$FAKE_KUBECTL/clusterqueues.json" ;;
  *"get resourceflavors"*) cat "$FAKE_KUBECTL/flavors.json" ;;
  *"get workloadpriorityclasses"*) echo '{"kind": "List", "items": []}' ;;
  *"get workloads"*) cat "$FAKE_KUBECTL/workloads.json" ;;
  *"get pods --selector"*) cat "$FAKE_KUBECTL/selected.json" ;;
  *"get pods --all-namespaces"*) cat "$FAKE_KUBECTL/pods.json" 2> /dev/null || forbidden ;;
  *"get pods"*) echo '{"kind": "List", "items": []}' ;;
  *"get modelprofiles"*) echo '{"kind": "List", "items": []}' ;;
  *logs*)
    if [ -e "$FAKE_KUBECTL/starting" ]; then
      said='container "trainer" in pod "demo-2" is waiting to start: ContainerCreating'
      case "$*" in *--ignore-errors*) echo "error: $said" ;; *) echo "Error from server (BadRequest): $said" >&2; exit 1 ;; esac
    fi
    cat "$FAKE_KUBECTL/logs" ;;
  *patch*) echo 'trainingjob.sailor.dev/demo patched' ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""

STATUS = {
    "state": "Running",
    "conditions": [
        {"type": "Running", "status": "True", "reason": "Training", "message": "4 GPUs train.", "observedGeneration": 1,
         "lastTransitionTime": "2026-11-26T03:00:00Z"},
        {"type": "Degraded", "status": "True", "reason": "Straggler", "observedGeneration": 1,
         "message": "GPU 0 of node a takes 4.0 times as long as usual.", "lastTransitionTime": "2026-11-26T03:00:00Z"},
    ],
    "plan": {"generation": 2, "hash": "abc", "configMap": "demo-plan", "totalGpus": 4,
             "gpus": [{"pool": "us-west1-b/nvidia-tesla-t4/spot", "gpus": 4}],
             "estimate": {"iterationSeconds": "1", "tokensPerSecond": 10000, "costPerIteration": "0.001", "costPerHour": "0.99"}},
    "progress": {"step": 100, "totalSteps": 400, "loss": "2.5", "firstLoss": "5.5", "tokensPerSecond": 8000, "tokens": 1200000,
                 "stepsLost": 1, "dollarsSpent": "0.12", "dollarsPerHour": "0.88", "lastCheckpointStep": 50, "elapsedSeconds": "300",
                 "usefulSeconds": "270", "lostSeconds": {"starting": "20", "rescaling": "10"}},
    "rescales": [{"time": "2026-11-26T03:10:00Z", "reason": "NodePreempted", "message": "Node b is taken back.", "fromGeneration": 1,
                  "toGeneration": 2, "fromGpus": 8, "toGpus": 4, "seconds": "2.5", "stoppedSeconds": "0.5", "stepsLost": 1}],
}
PLAN = {"model": "demo", "globalBatchSize": 8, "microbatchSize": 2, "peerReplicas": False, "shardedOptimizer": False,
        "stages": [{"layers": [0, 6], "replicas": [{"count": 4, "microbatches": 1, "pool": "us-west1-b/nvidia-tesla-t4/spot",
                                                    "tensorParallel": 1}]}]}
LOGS = """[pod/demo-1/trainer] 2026-11-26T03:00:02.000000000Z third
[pod/demo-1/trainer] 2026-11-26T03:00:03.000000000Z fourth
[pod/demo-0/trainer] 2026-11-26T03:00:00.000000000Z first
[pod/demo-0/trainer] 2026-11-26T03:00:01.500000000Z second
"""


POOL = {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "a100"},
        "spec": {"region": "us-central1", "zone": "us-central1-a", "accelerator": "nvidia-tesla-a100", "provisioning": "OnDemand",
                 "gpusPerNode": 4, "pricePerGpuHour": "3.67", "maxNodes": 1}}


def job(name="demo", status=STATUS):
    return {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name, "namespace": "team"}, "spec": {},
            "status": status}


def node(name, gpus, accelerator="nvidia-tesla-a100"):
    labels = {"cloud.google.com/gke-accelerator": accelerator, "topology.kubernetes.io/zone": "us-central1-a",
              "topology.kubernetes.io/region": "us-central1"}
    return {"metadata": {"name": name, "uid": name, "labels": labels},
            "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}, "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(job, uid, on_node, gpus):
    labels = {"sailor.dev/job-name": job, "sailor.dev/job-uid": uid, "sailor.dev/gpus": str(gpus)}
    owner = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "name": job, "uid": uid, "controller": True}
    container = {"name": "trainer", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}, "limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"metadata": {"name": f"{job}-{on_node}", "namespace": "team", "uid": f"{job}-{on_node}", "labels": labels,
                         "ownerReferences": [owner]},
            "spec": {"nodeName": on_node, "containers": [container]}, "status": {"phase": "Running"}}


class KubectlTest(ProgramTest):
    def setUp(self):
        self.home = pathlib.Path(self.folder.name, self.id())
        self.home.mkdir()
        self.answer("kubectl", FAKE)
        (self.home / "kubectl").chmod(stat.S_IRWXU)
        self.answer("jobs.json", {"kind": "List", "items": [job()]})
        self.answer("plan.json", {"kind": "ConfigMap", "data": {"plan.json": json.dumps(PLAN)}})
        self.answer("logs", LOGS)
        self.answer("selected.json", {"kind": "List", "items": [pod("demo", "demo-uid", "n", 4)]})
        for kind in ("records", "network", "operators", "priorities", "localqueues", "clusterqueues", "flavors", "workloads"):
            self.answer(f"{kind}.json", {"kind": "List", "items": []})
        self.answer("pools.json", {"kind": "List", "items": [POOL]})
        self.answer("nodes.json", {"kind": "List", "items": [node("n", 4)]})

    def answer(self, name, content):
        (self.home / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def sailor(self, *arguments, forbidden=""):
        path = f"{self.home}:{os.environ['PATH']}"
        return subprocess.run([SAILOR, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": path, "FAKE_KUBECTL": str(self.home), "FORBIDDEN": forbidden})

    def calls(self):
        return (self.home / "calls").read_text(encoding="utf-8").splitlines()
