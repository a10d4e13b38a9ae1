#!/usr/bin/env python3
"""Jobs for which `sailor plan` finds no plan or a poor one: the exit status, and one sentence with a remedy.

usage: no_plan_test.py SAILOR ROOT
"""

import json
import re
import unittest

from program import ProgramTest, sailor

JOB = """apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {{name: job}}
spec:
  model: {{name: {model}}}
  training: {{globalBatchSize: 64, sequenceLength: 1024, steps: 10}}
  data: {{format: Bytes, path: /data/*.txt}}
  objective: {objective}
  resources: {resources}
"""
POOL = """apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {{name: pool}}
spec: {{region: us-central1, zone: us-central1-a, accelerator: {accelerator}, gpusPerNode: 4, nodes: {nodes},
  maxNodes: 1024, provisioning: Spot, pricePerGpuHour: "{price}"}}
"""


class NoPlan(ProgramTest):
    def ask(self, *flags, model="opt-125m", objective="{type: MaxThroughput}", resources="{}",
             accelerator="nvidia-l4", nodes=2, price="0.7"):
        job = self.write("job.yaml", JOB.format(model=model, objective=objective, resources=resources))
        cluster = self.write("cluster.yaml", POOL.format(accelerator=accelerator, nodes=nodes, price=price))
        return sailor("plan", "-f", job, "--cluster", cluster, *flags)

    def test_without_gpus_it_says_to_add_nodes(self):
        self.assert_refused(self.ask(nodes=0), 3, "no GPU is free for the job", "add nodes")

    def test_too_few_gpus_are_counted(self):
        self.assert_refused(self.ask(resources="{minGpus: 16}"), 3, "minGpus is 16 and 8 GPUs", "8 too few",
                            "lower minGpus")

    def test_a_cluster_of_unknown_accelerators_only_is_bad_input(self):
        self.assert_refused(self.ask(accelerator="nvidia-abacus"), 2, "planning job default/job: no GPUs are left",
                            "pool us-central1-a/nvidia-abacus/spot", "spec.gpu")

    def test_slow_nodes_that_the_cluster_does_not_have_are_refused(self):
        pool = "us-central1-a/nvidia-l4/spot"
        self.assert_refused(self.ask("--slow", pool), 2, f"--slow {pool}: is not a node with slow GPUs", "=2.5,1.4")
        self.assert_refused(self.ask("--slow", f"{pool}="), 2, "is not a node with slow GPUs")
        self.assert_refused(self.ask("--slow", f"{pool}=fast"), 2, "is not a node with slow GPUs")
        self.assert_refused(self.ask("--slow", f"{pool}=0x2"), 2, "is not a node with slow GPUs")
        self.assert_refused(self.ask("--slow", f"{pool}=0.5"), 2, "is not a node with slow GPUs", "at least 1")
        self.assert_refused(self.ask("--slow", f"{pool}=5x2"), 2, "5 slow GPUs", "which has 4 GPUs")
        self.assert_refused(self.ask("--slow", "b/nvidia-l4/spot=2"), 2, "there is no pool b/nvidia-l4/spot")

    def test_a_plan_says_for_which_slowdown_slow_gpus_count(self):
        pool = "us-central1-a/nvidia-l4/spot"
        notes = json.loads(self.ask("--slow", f"{pool}=1.01,1,2x20", "-o", "json").stdout)["estimate"]["notes"]
        self.assertIn(f"slow GPUs of {pool}/slow1: their passes count as 1.25 times as long, because --slow is rounded up "
                      "to a power of 1.25", notes)
        self.assertIn(f"slow GPUs of {pool}: no plan uses those whose passes take more than 14.6 times as long", notes)
        self.assertNotIn("slow", " ".join(json.loads(self.ask("-o", "json").stdout)["estimate"]["notes"]))

    def test_a_plan_with_slow_gpus_names_their_pool_and_can_be_simulated(self):
        slow = ["--slow", "us-central1-a/nvidia-l4/spot=4x1.3"]
        planned = self.ask(*slow, "-o", "json")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        self.assertIn('"us-central1-a/nvidia-l4/spot/slow2"', planned.stdout)
        job = self.write("job.yaml", JOB.format(model="opt-125m", objective="{type: MaxThroughput}", resources="{}"))
        cluster = self.write("cluster.yaml", POOL.format(accelerator="nvidia-l4", nodes=2, price="0.7"))
        simulated = sailor("simulate", "-f", job, "--cluster", cluster, *slow, "--plan", "-", "-o", "json",
                           stdin=planned.stdout)
        self.assertEqual(simulated.returncode, 0, simulated.stderr)
        self.assertAlmostEqual(json.loads(simulated.stdout)["estimate"]["iterationSeconds"],
                               json.loads(planned.stdout)["estimate"]["iterationSeconds"], places=9)

    def test_a_running_plan_is_compared_at_the_speed_of_its_slow_gpus(self):
        healthy = self.ask("-o", "json")
        current = self.write("current.json", healthy.stdout)
        slow = ["--slow", "us-central1-a/nvidia-l4/spot=8", "--current", current, "-o", "json"]
        kept = json.loads(self.ask(*slow, "--lifetime", "2").stdout)  # too short for any pause
        self.assertEqual(kept["pauseSeconds"], 0)
        self.assertIn("us-central1-a/nvidia-l4/spot/slow10", json.dumps(kept["plan"]))
        before = json.loads(healthy.stdout)["estimate"]["iterationSeconds"]
        self.assertGreater(kept["estimate"]["iterationSeconds"], 5 * before)
        moved = json.loads(self.ask(*slow).stdout)
        self.assertGreater(moved["pauseSeconds"], 0)
        self.assertLess(moved["estimate"]["iterationSeconds"], 1.5 * before)

    def test_an_accelerator_that_no_pool_has_is_named(self):
        self.assert_refused(self.ask(resources="{accelerators: [nvidia-h100-80gb]}"), 3, "nvidia-h100-80gb",
                            "widen spec.resources")

    def test_a_zone_that_no_pool_has_is_infeasible(self):
        self.assert_refused(self.ask(resources="{zones: [europe-west4-a]}"), 3, "resources.zones",
                            "widen spec.resources")

    def test_contradictory_gpu_limits_are_bad_input(self):
        self.assert_refused(self.ask(resources="{minGpus: 8, maxGpus: 4}"), 2, "maxGpus", "minGpus", "raise")

    def test_a_limit_of_the_other_objective_is_bad_input(self):
        self.assert_refused(self.ask(objective='{type: MinCost, maxCostPerIteration: "1"}'), 2, "maxCostPerIteration")
        self.assert_refused(self.ask(objective='{type: MaxThroughput, minThroughput: "1"}'), 2, "minThroughput")

    def test_a_budget_of_zero_is_a_budget(self):
        self.assert_refused(self.ask(objective='{type: MaxThroughput, maxCostPerIteration: "0"}'), 3,
                            "maxCostPerIteration $0", "raise the limit to that or allow cheaper GPUs")
        self.assert_refused(self.ask(objective='{type: MaxThroughput, maxCostPerHour: "0"}'), 3, "maxCostPerHour $0",
                            "raise the limit to that or allow cheaper GPUs")

    def test_the_figure_of_the_nearest_plan_can_be_asked_for(self):
        for objective, limit in (("MaxThroughput", "maxCostPerIteration"), ("MaxThroughput", "maxCostPerHour"),
                                 ("MinCost", "minThroughput")):
            absurd = "1000000" if objective == "MinCost" else "0.0000001"
            refused = self.ask(objective=f'{{type: {objective}, {limit}: "{absurd}"}}')
            figure = re.search(r"found (?:costs \$|makes )([0-9.e-]+)", refused.stderr)[1]
            done = self.ask(objective=f'{{type: {objective}, {limit}: "{figure}"}}')
            self.assertEqual(done.returncode, 0, f"{refused.stderr}{done.stderr}")

    def test_free_gpus_fit_a_budget_of_zero(self):
        done = self.ask("-o", "json", objective='{type: MaxThroughput, maxCostPerIteration: "0"}', price="0")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_limit_of_zero_leaves_the_free_gpus_of_a_large_cluster(self):
        job = self.write("job.yaml", JOB.format(model="opt-125m", objective='{type: MaxThroughput, maxCostPerIteration: "0"}', resources="{}"))
        pools = [POOL.format(accelerator="nvidia-l4", nodes=4, price="0").replace("name: pool", "name: own"),
                 POOL.format(accelerator="nvidia-tesla-a100", nodes=4, price="3")]
        done = sailor("plan", "-f", job, "--cluster", self.write("cluster.yaml", "---\n".join(pools)), "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(json.loads(done.stdout)["estimate"]["gpus"]), ["us-central1-a/nvidia-l4/spot"])

    def test_a_throughput_out_of_reach_says_what_is_reached(self):
        self.assert_refused(self.ask(objective='{type: MinCost, minThroughput: "1000000"}'), 3,
                            "the fastest found makes", "lower it to that or allow more GPUs")

    def test_a_model_too_large_for_everything_says_what_is_missing(self):
        self.assert_refused(self.ask(model="llama-3-70b", nodes=1), 3, "no plan fits in memory",
                            "GiB more than a GPU has", "allow more or larger GPUs")

    def test_more_gpus_of_each_make_that_model_feasible(self):
        done = self.ask("-o", "json", model="llama-3-70b", accelerator="nvidia-h100-80gb", nodes=16)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["estimate"]["fits"])

    def test_a_deadline_that_passes_gives_the_best_so_far_and_says_so(self):
        done = self.ask("--budget", "0.000001", "-o", "json", model="opt-1.3b", nodes=64)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["search"]["cutShort"])
        table = self.ask("--budget", "0.000001", model="opt-1.3b", nodes=64)
        self.assertIn("stopped at the time limit, a longer search might find a better plan", table.stdout)

    def test_repair_and_lifetime_are_of_a_running_plan(self):
        self.assert_refused(self.ask("--repair"), 2, "--current")
        self.assert_refused(self.ask("--lifetime", "60"), 2, "--current")
        for seconds in ("0", "-1", "soon"):
            self.assert_refused(self.ask("--prove", seconds), 2, "--prove")

    def test_a_running_plan_that_lost_a_node_is_repaired(self):
        running = self.write("running.json", self.ask("-o", "json", nodes=4).stdout)
        done = self.ask("--current", running, "--repair", "-o", "json", nodes=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertTrue(result["estimate"]["fits"])
        self.assertGreater(result["pauseSeconds"], 0)

    def test_a_proof_of_some_seconds_is_no_worse_than_the_quick_one(self):
        quick = json.loads(self.ask("-o", "json").stdout)["bound"]
        thorough = json.loads(self.ask("--prove", "0.5", "-o", "json").stdout)["bound"]
        self.assertGreaterEqual(thorough["ratio"], quick["ratio"])
        self.assertLessEqual(thorough["ratio"], 1)
        self.assertLessEqual(thorough["costRatio"], 1)


if __name__ == "__main__":
    unittest.main()
