#!/usr/bin/env python3
"""Plans jobs with the GPUs of a cluster of which a kubectl that answers from files tells. Takes the arguments SAILOR ROOT.

tests/e2e does so with a real cluster.
"""

import json
import pathlib
import unittest

from fake_kubectl import PLAN, POOL, KubectlTest, node, pod
from program import JOB

TIME = "2026-11-26T03:00:00Z"
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


class FromCluster(KubectlTest):
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
