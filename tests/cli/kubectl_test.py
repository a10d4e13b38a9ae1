#!/usr/bin/env python3
"""Runs the commands for jobs of a cluster with a kubectl that answers from files. Takes the arguments SAILOR ROOT.

tests/e2e runs them with a real cluster.
"""

import json
import os
import pathlib
import re
import stat
import subprocess
import unittest

from program import JOB, SAILOR, ProgramTest

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


def job(name="demo", status=STATUS):
    return {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name, "namespace": "team"}, "spec": {},
            "status": status}


def node(name, gpus, accelerator="nvidia-tesla-a100"):
    labels = {"cloud.google.com/gke-accelerator": accelerator, "topology.kubernetes.io/zone": "us-central1-a",
              "topology.kubernetes.io/region": "us-central1"}
    return {"metadata": {"name": name, "uid": name, "labels": labels},
            "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}, "conditions": [{"type": "Ready", "status": "True"}]}}


TIME = "2026-11-26T03:00:00Z"
POOL = {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "a100"},
        "spec": {"region": "us-central1", "zone": "us-central1-a", "accelerator": "nvidia-tesla-a100", "provisioning": "OnDemand",
                 "gpusPerNode": 4, "pricePerGpuHour": "3.67", "maxNodes": 1}}
NETWORK = """apiVersion: sailor.dev/v1alpha1
kind: NetworkModel
spec: {tiers: {node: {gigabytesPerSecond: "0.01"}, zone: {gigabytesPerSecond: "0.01"}}}
"""


def record(uid, node, name="other", **known):
    """The record of a job that has chosen the GPUs of a node, and whose pods do not exist yet."""
    pool = "us-central1-a/nvidia-tesla-a100/ondemand"
    plan = {**PLAN, "stages": [{"layers": [0, 6], "replicas": [{"count": 4, "microbatches": 1, "pool": pool, "tensorParallel": 1}]}]}
    summary = dict.fromkeys(("iterationSeconds", "tokensPerSecond", "gpuCostPerIteration", "trafficCostPerIteration", "costPerHour",
                             "boundRatio"), 1)
    times = dict.fromkeys(("causedAt", "askedAt", "decidedAt", "committedAt", "notBefore"), "")
    spec = {"generation": 1, "plan": plan, "summary": summary, "replicas": [], "members": [], "rendezvous": 0, "releasesGpus": False,
            "slots": [{"pod": "other-1", "pool": pool, "node": node, "nodeUid": node, "gpus": 4}], "reason": "Started", "message": "",
            "fromGeneration": 0, "fromGpus": 0, "jobUid": uid, "jobGeneration": 1, "minPodGeneration": 1, "lastIssued": 1,
            "restarts": 0, "lastFailure": "", "quarantinedNodes": [], **times, **known}
    owner = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "name": name, "uid": uid, "controller": True}
    return {"metadata": {"name": name, "namespace": "team", "ownerReferences": [owner]}, "spec": spec}


def pod(job, uid, on_node, gpus):
    labels = {"sailor.dev/job-name": job, "sailor.dev/job-uid": uid, "sailor.dev/gpus": str(gpus)}
    owner = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "name": job, "uid": uid, "controller": True}
    container = {"name": "trainer", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}, "limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"metadata": {"name": f"{job}-{on_node}", "namespace": "team", "uid": f"{job}-{on_node}", "labels": labels,
                         "ownerReferences": [owner]},
            "spec": {"nodeName": on_node, "containers": [container]}, "status": {"phase": "Running"}}


def job_with(uid, name, **spec):
    return {**example_job(), "metadata": {"name": name, "namespace": "team", "uid": uid, "creationTimestamp": TIME},
            "spec": {**example_job()["spec"], **spec}}


def example_job():
    return {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "own", "namespace": "team"},
            "spec": {"model": {"name": "opt-350m"}, "data": {"format": "Megatron", "path": "/data/p"},
                     "training": {"globalBatchSize": 64, "sequenceLength": 2048, "steps": 100},
                     "objective": {"type": "MaxThroughput"}}}


def workload_of(job, gpus):
    """An admitted Workload of a TrainingJob."""
    return {"metadata": {"name": "w-" + job, "namespace": "team", "ownerReferences": [{"kind": "TrainingJob", "name": job}]},
            "spec": {"podSets": [{"name": "gpus", "count": gpus}]},
            "status": {"admission": {"clusterQueue": "research",
                                     "podSetAssignments": [{"count": gpus, "flavors": {"nvidia.com/gpu": "a100"}}]},
                       "conditions": [{"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": "True"}]}}


class Kubectl(ProgramTest):
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

    def plan_of_cluster(self, **options):
        done = self.sailor("plan", "-f", JOB, "--from-cluster", "-o", "json", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def low_job_on_two_nodes(self, min_gpus, **spec):
        """A job of no priority uses all GPUs of the cluster, and there is a class of high priority."""
        self.answer("nodes.json", {"kind": "List", "items": [node("m", 4), node("n", 4)]})
        low = job_with("low", "low", resources={"minGpus": min_gpus}, **spec)
        self.answer("jobs.json", {"kind": "List", "items": [low]})
        self.answer("pods.json", {"kind": "List", "items": [pod("low", "low", name, 4) for name in ("m", "n")]})
        self.answer("records.json", {"kind": "List", "items": [record("low", "m", "low", committedAt=TIME)]})
        high = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "PreemptLowerPriority"}
        self.answer("priorities.json", {"kind": "List", "items": [high]})

    def own_job(self, labels=None, **spec):
        own = example_job()
        own["metadata"]["labels"] = labels or {}
        own["spec"].update(spec)
        return self.write("own.yaml", json.dumps(own))

    def plan_of(self, file, **options):
        done = self.sailor("plan", "-f", file, "--from-cluster", "-o", "json", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def waiting(self, file, **options):
        done = self.sailor("plan", "-f", file, "--from-cluster", "-o", "json", **options)
        self.assertEqual(done.returncode, 3, done.stderr)
        return json.loads(done.stdout)["cluster"], done.stderr

    def queue_with(self, quota, used, **cluster_queue):
        usage = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "total": str(used)}]}
        flavor = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": quota}]}
        group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}
        queue = {"metadata": {"name": "research"}, "spec": {"resourceGroups": [group], **cluster_queue},
                 "status": {"flavorsReservation": [usage]}}
        self.answer("clusterqueues.json", {"kind": "List", "items": [queue]})
        self.answer("localqueues.json", {"kind": "List", "items": [{"metadata": {"name": "gpus", "namespace": "team"},
                                                                    "spec": {"clusterQueue": "research"}}]})
        labels = {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}
        self.answer("flavors.json", {"kind": "List", "items": [{"metadata": {"name": "a100"}, "spec": {"nodeLabels": labels}}]})
        self.answer("workloads.json", {"kind": "List", "items": [workload_of("other", used)] if used else []})

    def calls(self):
        return (self.home / "calls").read_text(encoding="utf-8").splitlines()

    def test_top_shows_speed_and_cost_of_each_job(self):
        done = self.sailor("top")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        heading, row = done.stdout.splitlines()
        self.assertEqual(heading.split(), ["NAME", "STATE", "GPUS", "STEP", "LEFT", "TOKENS/S", "OF", "PLAN", "USEFUL", "$/H", "SPENT"])
        # 300 steps of 12,000 tokens are left, at 8,000 tokens per second.
        self.assertEqual(row.split(), ["demo", "Running", "4", "100/400", "7.5", "min", "8,000", "80", "%", "90", "%", "0.88", "$0.12"])

    def test_a_job_without_gpus_costs_nothing_and_the_sum_leaves_it_out(self):
        progress = {name: value for name, value in STATUS["progress"].items() if name != "dollarsPerHour"}
        suspended = {**STATUS, "state": "Suspended", "progress": progress,
                     "conditions": [{"type": "Suspended", "status": "True", "reason": "Suspended", "message": "It is suspended."}]}
        self.answer("jobs.json", {"kind": "List", "items": [job(), job("other", suspended)]})
        done = self.sailor("top")
        self.assertRegex(done.stdout, r"other +Suspended +- +100/400 +- +- +- +90 % +- +\$0.12\n")
        self.assertTrue(done.stdout.endswith("\n2 jobs, 4 GPUs, $0.88 per hour\n"), done.stdout)

    def test_top_of_all_namespaces_names_them(self):
        done = self.sailor("top", "-A")
        self.assertIn("NAMESPACE", done.stdout)
        self.assertIn("team", done.stdout)
        self.assertIn("--all-namespaces", self.calls()[0])

    def test_top_without_jobs_says_so(self):
        self.answer("jobs.json", {"kind": "List", "items": []})
        self.assertIn("no TrainingJobs in this namespace", self.sailor("top").stdout)

    def test_a_job_without_status_is_shown(self):
        self.answer("jobs.json", {"kind": "List", "items": [job(status={})]})
        self.assertIn("demo", self.sailor("top").stdout)
        self.answer("jobs.json", job(status={}))
        self.assertIn("not seen by an operator yet", self.sailor("explain", "demo").stdout)

    def test_explain_says_what_the_job_does_and_where_time_and_money_went(self):
        self.answer("jobs.json", job())
        done = self.sailor("explain", "demo")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in ("team/demo: Running", "4 GPUs train.", "Straggler: GPU 0 of node a takes 4.0 times", "100/400, loss 2.5 (5.5 at first)",
                     "80 % of the 10,000 that are planned", "$0.88 per hour, $0.12 so far", "90 % of 5 min", "20 s starting",
                     "stage 0, layers 0-5", "nvidia-tesla-t4 in us-west1-b, spot", "NodePreempted: Node b is taken back."):
            self.assertIn(part, done.stdout)

    def test_explain_warns_of_pools_that_are_not_used_as_the_operator_does(self):
        self.answer("jobs.json", job(status={**STATUS, "unpricedPools": ["us-west1-b/gpu-x/spot"],
                                             "poolsWithoutKernels": ["us-west1-b/gpu-y/spot"]}))
        text = self.sailor("explain", "demo").stdout
        self.assertIn("Warning   The nodes of us-west1-b/gpu-x/spot are not used: their price is not known. "
                      "Declare a GpuPool with pricePerGpuHour.\n", text)
        self.assertIn("Warning   The nodes of us-west1-b/gpu-y/spot are not used: the trainer's image has no kernels", text)

    def test_explain_without_the_plan_still_explains(self):
        self.answer("jobs.json", job())
        self.answer("plan.json", "{}")
        done = self.sailor("explain", "demo")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("stage 0", done.stdout)

    def test_history_has_a_row_for_each_change(self):
        self.answer("jobs.json", job())
        rows = self.sailor("history", "demo").stdout.splitlines()
        self.assertEqual(len(rows), 2)
        self.assertRegex(rows[1], r"2026-11-26T03:10:00Z +1 to 2 +8 to 4 +2.5 s +500 ms +1 +NodePreempted +Node b")

    def test_history_says_what_it_does_not_know(self):
        first = STATUS["rescales"][0]
        unknown = {key: first[key] for key in first if key not in ("stoppedSeconds", "stepsLost")}
        interrupted = {key: unknown[key] for key in unknown if key != "seconds"} | {"interrupted": True}
        self.answer("jobs.json", job(status=STATUS | {"rescales": [interrupted, unknown]}))
        rows = self.sailor("history", "demo").stdout.splitlines()
        self.assertRegex(rows[1], r"8 to 4 +interrupted +- +- +NodePreempted")
        self.assertRegex(rows[2], r"8 to 4 +2.5 s +- +- +NodePreempted")

    def test_logs_of_all_workers_are_in_the_order_of_their_times(self):
        self.answer("jobs.json", job())
        lines = self.sailor("logs", "demo").stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines], ["first", "second", "third", "fourth"])

    def test_logs_of_the_other_workers_are_shown_while_a_pod_starts(self):
        self.answer("jobs.json", job())
        self.answer("starting", "")
        for flags in ([], ["--follow"]):
            done = self.sailor("logs", "demo", *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('pod "demo-2" is waiting to start', done.stdout)
            self.assertIn("fourth", done.stdout)

    def test_logs_of_a_job_without_pods_say_why_there_are_none(self):
        waiting = {"state": "Waiting", "conditions": [{"type": "Planned", "status": "False", "reason": "WaitingForCapacity",
                                                       "message": "no GPU is free."}]}
        self.answer("jobs.json", job(status=waiting))
        self.answer("selected.json", {"kind": "List", "items": []})
        for flags in ([], ["--follow"]):
            done = self.sailor("logs", "demo", *flags)
            self.assertEqual((done.returncode, done.stdout), (
                0, "Job team/demo has no pods, so it has no logs. It is Waiting. WaitingForCapacity: no GPU is free.\n"))

    def test_logs_of_a_job_with_a_long_name_are_found_by_the_label_of_its_pods(self):
        self.answer("jobs.json", job("a" * 60))
        self.assertIn("first", self.sailor("logs", "a" * 60).stdout)
        selectors = re.findall(r"job-name=(\S+)", "\n".join(self.calls()))
        self.assertEqual({len(name) for name in selectors}, {48}, "pods have a label with the shortened name")

    def test_suspend_and_resume_set_the_field(self):
        self.answer("jobs.json", {**job(), "spec": {"checkpoint": {"path": "/checkpoints"}}})
        self.assertEqual(self.sailor("suspend", "demo", "-n", "team").stdout, "trainingjob.sailor.dev/demo patched\n")
        self.assertEqual(self.sailor("resume", "demo", "--context", "gke").returncode, 0)
        suspend, _, resume, _ = self.calls()
        self.assertIn('--namespace=team patch trainingjobs.sailor.dev demo --type=merge --patch={"spec":{"suspend":true}}', suspend)
        self.assertIn('--context=gke patch trainingjobs.sailor.dev demo --type=merge --patch={"spec":{"suspend":false}}', resume)

    def test_suspend_warns_if_the_job_will_begin_again_because_it_has_no_checkpoint(self):
        self.answer("jobs.json", job())
        done = self.sailor("suspend", "demo")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"patched\nWarning: job demo has no spec.checkpoint.path, .* begins again at step 0 when")
        ended = [{"type": "Complete", "status": "True", "reason": "Complete", "message": "All steps are done."}]
        self.answer("jobs.json", job(status={**STATUS, "conditions": ended}))
        self.assertNotIn("Warning", self.sailor("suspend", "demo").stdout)

    def test_suspend_and_resume_say_that_they_change_nothing_of_a_job_that_has_ended(self):
        failed = [{"type": "Failed", "status": "True", "reason": "TrainerFailed", "message": "The loss is nan."}]
        ended = job(status={**STATUS, "state": "Failed", "conditions": failed})
        self.answer("jobs.json", ended)
        no_effect = "Job demo has ended (state Failed), so this changes nothing."
        self.assertTrue(self.sailor("suspend", "demo").stdout.endswith(f"patched\n{no_effect}\n"))
        self.assertTrue(self.sailor("resume", "demo").stdout.endswith(f"{no_effect} To train on, create another job.\n"))
        self.answer("jobs.json", {**ended, "spec": {"checkpoint": {"path": "/checkpoints"}}})
        self.assertIn("with spec.checkpoint.resumeFrom.job: demo it begins with the state of this one.", self.sailor("resume", "demo").stdout)

    def test_a_job_of_another_controller_is_said_to_be_left_to_it(self):
        self.answer("jobs.json", {**job(status={}), "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
        self.assertIn("left to the controller kueue.x-k8s.io/multikueue, which spec.managedBy names",
                      self.sailor("explain", "demo").stdout)

    def test_what_is_no_name_of_a_job_is_a_usage_error(self):
        for command in ("top", "explain", "history", "logs", "suspend", "resume"):
            for name in ("Demo", "a/b", "", "-.-"):
                self.assert_refused(self.sailor(command, "--", name), 2, "is invalid: expected a name", f"sailor {command} --help")
        self.assertFalse((self.home / "calls").exists(), "kubectl is not asked")

    def test_what_kubectl_says_is_the_error(self):
        self.assert_refused(self.sailor("explain", "missing"), 2, "kubectl get trainingjobs.sailor.dev missing", "not found")

    def test_the_log_of_kubectl_is_no_part_of_an_error(self):
        done = self.sailor("explain", "unreachable")
        self.assert_refused(done, 1, "kubectl get trainingjobs.sailor.dev unreachable -o json: The connection to the server a:6443 was")
        self.assertNotIn("memcache.go", done.stderr)

    def test_what_the_user_may_not_see_is_refused_as_bad_input(self):
        self.assert_refused(self.sailor("top", forbidden="trainingjobs"), 2, "Forbidden")

    def test_without_kubectl_the_remedy_is_named(self):
        done = subprocess.run([SAILOR, "top"], capture_output=True, text=True, check=False, env={"PATH": "/nonexistent"})
        self.assert_refused(done, 1, "running kubectl", "install it")

    def test_a_job_can_be_planned_on_the_free_gpus_of_the_cluster(self):
        planned = self.plan_of_cluster()
        pools = {replica["pool"] for stage in planned["plan"]["stages"] for replica in stage["replicas"]}
        self.assertEqual(pools, {"us-central1-a/nvidia-tesla-a100/ondemand"})
        self.assertIn("pods of other namespaces", str(planned["estimate"]["notes"]))

    def test_gpus_that_another_job_claims_are_not_free(self):
        other = {"metadata": {"name": "other", "namespace": "team", "uid": "u"}, "spec": {}}
        self.answer("nodes.json", {"kind": "List", "items": [node("n", 4), node("m", 4)]})
        self.answer("jobs.json", {"kind": "List", "items": [other]})
        def gpus(planned):
            return sum(planned["estimate"]["gpus"].values())
        self.assertEqual(gpus(self.plan_of_cluster()), 8)
        self.answer("records.json", {"kind": "List", "items": [record("u", "m")]})
        self.assertEqual(gpus(self.plan_of_cluster()), 4)
        self.answer("jobs.json", {"kind": "List", "items": [{**other, "spec": {"suspend": True}}]})
        self.assertEqual(gpus(self.plan_of_cluster()), 8)

    def test_a_running_job_is_planned_with_what_the_operator_knows_of_its_nodes(self):
        own = {"metadata": {"name": "opt-350m", "namespace": "team", "uid": "u"}, "spec": {}}
        self.answer("nodes.json", {"kind": "List", "items": [node("n", 4), node("m", 4)]})
        self.answer("jobs.json", {"kind": "List", "items": [own]})
        def planned(**known):
            self.answer("records.json", {"kind": "List", "items": [record("u", "m", "opt-350m", committedAt=TIME, **known)]})
            return self.plan_of_cluster()["estimate"]
        self.assertEqual(sum(planned()["gpus"].values()), 8)
        quarantined = {"nodeUid": "m", "since": "", "until": "2999-01-01T00:00:00Z"}
        self.assertEqual(sum(planned(quarantinedNodes=[quarantined])["gpus"].values()), 4)
        slow = {"nodeUid": "m", "gpu": 0, "slowdown": 2.5, "since": TIME, "slowUntil": "", "distrustSeconds": 0}
        self.assertEqual(planned(slowGpus=[slow])["gpus"]["us-central1-a/nvidia-tesla-a100/ondemand"], 7, "the slow one counts apart")

    def test_a_pool_that_gave_no_node_is_not_planned_with(self):
        other = {"metadata": {"name": "other", "namespace": "team", "uid": "u"}, "spec": {}}
        self.answer("nodes.json", {"kind": "List", "items": []})
        self.answer("jobs.json", {"kind": "List", "items": [other]})
        self.assertIn("nodes that the cluster would have to add", str(self.plan_of_cluster()["estimate"]["notes"]))
        refusal = {"pool": "us-central1-a/nvidia-tesla-a100/ondemand", "since": "2998-12-31T23:30:00Z", "until": "2999-01-01T00:00:00Z",
                   "message": "GCE out of resources."}
        self.answer("records.json", {"kind": "List", "items": [record("u", "m", committedAt=TIME, poolRefusals=[refusal])]})
        refused = self.sailor("plan", "-f", JOB, "--from-cluster")
        self.assertEqual((refused.returncode, refused.stdout), (3, ""), refused.stderr)
        self.assertRegex(refused.stderr, "a100/ondemand has given no node, and is not asked for one before 2999-01-01T00:00:00Z: GCE out")

    def test_gpus_for_which_the_trainers_image_has_no_kernels_are_not_used(self):
        def plan_with_image_for(capability):
            container = {"name": "operator", "args": ["--trainer-image=t", f"--min-compute-capability={capability}"]}
            operator = {"metadata": {"name": "sailor"}, "spec": {"template": {"spec": {"containers": [container]}}}}
            self.answer("operators.json", {"kind": "List", "items": [operator]})
            return self.sailor("plan", "-f", of_v100, "--from-cluster")
        text = pathlib.Path(JOB).read_text(encoding="utf-8")
        of_v100 = self.write("v100.yaml", text.replace("nvidia-tesla-a100", "nvidia-tesla-v100"))
        self.answer("nodes.json", {"kind": "List", "items": [node("n", 8, "nvidia-tesla-v100")]})
        pool = {**POOL["spec"], "accelerator": "nvidia-tesla-v100"}
        self.answer("pools.json", {"kind": "List", "items": [{**POOL, "spec": pool}]})
        refused = plan_with_image_for("7.5")
        self.assertEqual((refused.returncode, refused.stdout), (3, ""), refused.stderr)
        self.assertRegex(refused.stderr, "note: The nodes of us-central1-a/nvidia-tesla-v100/ondemand are not used: .* no kernels")
        planned = plan_with_image_for("7.0")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        self.assertNotIn("no kernels", planned.stdout)

    def test_a_plan_for_the_cluster_assumes_the_network_of_the_operator(self):
        seconds = self.plan_of_cluster()["estimate"]["iterationSeconds"]
        network = {"metadata": {"name": "sailor-network-model", "namespace": "sailor-system"}, "data": {"network-model.yaml": NETWORK}}
        self.answer("network.json", {"kind": "List", "items": [{"metadata": {}, "data": {"other": ""}}, network]})
        self.assertGreater(self.plan_of_cluster()["estimate"]["iterationSeconds"], 1.2 * seconds)
        network["data"]["network-model.yaml"] = NETWORK.replace("0.01", "fast")
        self.answer("network.json", {"kind": "List", "items": [network]})
        done = self.sailor("plan", "-f", JOB, "--from-cluster")
        self.assert_refused(done, 2, "ConfigMap sailor-system/sailor-network-model:3: spec.tiers")

    def test_what_may_not_be_read_is_a_note(self):
        for kind, consequence in (("trainingjobs.sailor.dev", "those do not count"), ("priorityclasses", "of equal priority"), ("configmaps", "the network of Google Cloud is assumed"), ("jobrecords", "count as free"),
                                  ("deployments", "compute capability 7.5 and newer"),
                                  ("modelprofiles", "times are computed from data sheets")):
            notes = [note for note in self.plan_of_cluster(forbidden=kind)["estimate"]["notes"] if kind in note]
            self.assertIn(consequence, str(notes))

    def test_a_job_of_higher_priority_shrinks_a_lower_one_to_its_min_gpus(self):
        self.low_job_on_two_nodes(min_gpus=4)
        planned = self.plan_of(self.own_job(priorityClassName="high"))
        self.assertEqual(sum(planned["estimate"]["gpus"].values()), 4)
        self.assertEqual(planned["cluster"]["takes"], [{"job": "team/low", "priority": 0, "gpus": 4, "left": 4, "then": "shrinks"}])
        self.assertIn("The job takes 4 of the 8 GPUs of job team/low (priority 0), which goes on with at most 4 of them.",
                      planned["estimate"]["notes"])
        table = self.sailor("plan", "-f", self.own_job(priorityClassName="high"), "--from-cluster").stdout
        self.assertIn("Note: The job takes 4 of the 8 GPUs of job team/low", table)

    def test_a_lower_job_that_cannot_do_with_less_waits(self):
        self.low_job_on_two_nodes(min_gpus=8)
        planned = self.plan_of(self.own_job(priorityClassName="high"))
        self.assertEqual([(one["job"], one["left"], one["then"]) for one in planned["cluster"]["takes"]], [("team/low", 0, "waits")])
        self.assertIn("which saves its state and waits", str(planned["estimate"]["notes"]))

    def test_a_lower_job_that_cannot_change_while_it_runs_starts_again(self):
        self.low_job_on_two_nodes(min_gpus=4, elasticity={"mode": "Restart"})
        self.assertEqual(self.plan_of(self.own_job(priorityClassName="high"))["cluster"]["takes"][0]["then"], "restarts")

    def test_a_job_of_equal_priority_waits_and_the_answer_says_who_has_the_gpus(self):
        self.low_job_on_two_nodes(min_gpus=4)
        cluster, errors = self.waiting(self.own_job())
        self.assertEqual(cluster["takes"], [])
        self.assertEqual(cluster["waits"]["reason"], "WaitingForCapacity")
        self.assertEqual(cluster["waits"]["holders"], [{"job": "team/low", "priority": 0, "gpus": 8}])
        self.assertIn("in use: 8 by job team/low (priority 0)", errors)

    def test_without_the_right_to_read_priorities_no_job_gives_gpus(self):
        self.low_job_on_two_nodes(min_gpus=4)
        _, errors = self.waiting(self.own_job(priorityClassName="high"), forbidden="priorityclasses")
        self.assertIn("note: you may not list priorityclasses.scheduling.k8s.io, so all jobs count as of equal priority", errors)

    def test_a_priority_class_that_does_not_exist_is_a_note(self):
        self.low_job_on_two_nodes(min_gpus=4)
        _, errors = self.waiting(self.own_job(priorityClassName="hihg"))
        self.assertIn("note: PriorityClass hihg does not exist", errors)

    def test_a_job_that_is_planned_first_is_named(self):
        self.answer("jobs.json", {"kind": "List", "items": [job_with("u", "other")]})
        self.assertEqual(self.plan_of_cluster()["cluster"]["first"], "job team/other (priority 0)")

    def test_pods_of_others_use_their_gpus_also_if_the_job_does_not_exist_yet(self):
        self.answer("nodes.json", {"kind": "List", "items": [node("m", 4), node("n", 4)]})
        foreign = pod("x", "x", "m", 4)
        foreign["metadata"] = {"name": "x", "namespace": "y", "uid": "x"}
        self.answer("pods.json", {"kind": "List", "items": [foreign]})
        self.assertEqual(sum(self.plan_of_cluster()["estimate"]["gpus"].values()), 4)

    def test_the_quota_of_the_queue_limits_the_job(self):
        self.answer("nodes.json", {"kind": "List", "items": [node("m", 4), node("n", 4)]})
        self.queue_with(quota=6, used=2)
        planned = self.plan_of(self.own_job({"kueue.x-k8s.io/queue-name": "gpus"}))
        self.assertEqual(sum(planned["estimate"]["gpus"].values()), 4)
        queue = planned["cluster"]["queue"]
        self.assertEqual((queue["clusterQueue"], queue["askedGpus"], queue["givenGpus"]), ("research", 8, 4))
        self.assertEqual(queue["flavors"], [{"flavor": "a100", "quota": 6, "used": 2, "left": 4}])
        self.assertEqual(queue["holders"], [{"holder": "job team/other", "gpus": 2}])
        self.assertIn("Queue gpus (ClusterQueue research) gives the job 4 of the 8 GPUs that it asks for: flavor a100 has 4 left "
                      "(2 of 6 are used); in use are 2 by job team/other.", planned["estimate"]["notes"])

    def test_a_job_for_which_the_queue_has_too_little_waits(self):
        self.queue_with(quota=4, used=3)
        own = self.own_job({"kueue.x-k8s.io/queue-name": "gpus"}, resources={"minGpus": 4})
        cluster, errors = self.waiting(own)
        self.assertEqual((cluster["waits"]["reason"], cluster["queue"]["givenGpus"]), ("WaitingForQuota", 0))
        self.assertIn("gives the job no GPUs, and it needs at least 4: flavor a100 has 1 left (3 of 4 are used); in use are 3 by job "
                      "team/other.", errors)

    def test_what_further_jobs_of_the_queue_use_is_one_sum(self):
        self.queue_with(quota=16, used=15)
        jobs = [workload_of(f"job-{gpus}", gpus) for gpus in (1, 2, 3, 4, 5)]
        self.answer("workloads.json", {"kind": "List", "items": jobs})
        _, errors = self.waiting(self.own_job({"kueue.x-k8s.io/queue-name": "gpus"}, resources={"minGpus": 4}))
        self.assertIn("in use are 5 by job team/job-5, 4 by job team/job-4, 3 by job team/job-3, and 3 by 2 others.", errors)

    def test_a_queue_borrows_what_its_cohort_has_left(self):
        self.queue_with(quota=4, used=4, cohort="all")
        queues = json.loads((self.home / "clusterqueues.json").read_text(encoding="utf-8"))
        group = json.loads(json.dumps(queues["items"][0]["spec"]["resourceGroups"]))
        group[0]["flavors"][0]["resources"][0].update(nominalQuota="6", lendingLimit="4")
        queues["items"].append({"metadata": {"name": "other"}, "spec": {"cohort": "all", "resourceGroups": group}})
        self.answer("clusterqueues.json", queues)
        own = self.own_job({"kueue.x-k8s.io/queue-name": "gpus"})
        self.assertEqual(self.plan_of(own)["cluster"]["queue"]["flavors"][0]["left"], 4)

    def test_a_queue_that_gives_nothing_says_why(self):
        own = self.own_job({"kueue.x-k8s.io/queue-name": "gpsu"})
        self.assertIn("LocalQueue gpsu does not exist in namespace team", self.waiting(own)[1])
        self.queue_with(quota=4, used=0)
        own = self.own_job({"kueue.x-k8s.io/queue-name": "gpus"})
        self.answer("flavors.json", {"kind": "List", "items": []})
        self.assertIn("it has no quota for GPUs that the job may use", self.waiting(own)[1])
        self.answer("clusterqueues.json", {"kind": "List", "items": []})
        self.assertIn("ClusterQueue research does not exist", self.waiting(own)[1])
        operator = {"metadata": {"name": "sailor"}, "spec": {"template": {"spec": {"containers": [{"args": ["--trainer-image=t"]}]}}}}
        self.answer("operators.json", {"kind": "List", "items": [operator]})
        self.assertIn("the operator does not use Kueue", self.waiting(own)[1])

    def test_a_quota_that_may_not_be_read_is_a_note(self):
        self.queue_with(quota=1, used=1)
        planned = self.plan_of(self.own_job({"kueue.x-k8s.io/queue-name": "gpus"}), forbidden="clusterqueues")
        self.assertIn("you may not list clusterqueues.kueue.x-k8s.io, so no limit by queue gpus is assumed", planned["estimate"]["notes"])

    def test_each_kind_of_objects_is_read_once(self):
        self.queue_with(quota=4, used=0)
        self.plan_of(self.own_job({"kueue.x-k8s.io/queue-name": "gpus"}), forbidden="configmaps")
        kinds = [call.split("get ")[1].split()[0] for call in self.calls() if "get " in call and "get pods" not in call]
        self.assertEqual(sorted(kinds), sorted(set(kinds)))
        self.assertIn("trainingjobs.sailor.dev", kinds)

    def test_a_cluster_file_and_the_live_cluster_exclude_each_other(self):
        done = self.sailor("plan", "-f", JOB, "--cluster", "x", "--from-cluster")
        self.assert_refused(done, 2, "--from-cluster")


if __name__ == "__main__":
    unittest.main()
