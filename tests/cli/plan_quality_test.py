#!/usr/bin/env python3
"""Plans of whole clusters, compared with those that the same program finds with less freedom.

usage: plan_quality_test.py SAILOR ROOT
"""

import json
import unittest

from program import ROOT, ProgramTest, sailor

JOB = """apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {{name: job}}
spec:
  model: {{name: {model}}}
  training: {{globalBatchSize: 256, sequenceLength: 2048, precision: BF16, steps: 1000}}
  data: {{format: Tokens, path: /data/*.bin}}
  elasticity: {{redundancy: {redundancy}}}
"""
POOL = """apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {{name: pool}}
spec:
  {{region: us-central1, zone: us-central1-a, accelerator: {accelerator}, provisioning: {provisioning}, gpusPerNode: 8, maxNodes: 8,
    pricePerGpuHour: "4"}}
"""


GPT2 = """apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {{name: job}}
spec:
  model: {{name: gpt2}}
  training: {{globalBatchSize: 256, sequenceLength: 1024, precision: BF16, steps: 100}}
  objective: {{{objective}}}
  elasticity: {{redundancy: None}}
"""


OPT = """apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {{name: job}}
spec:
  model: {{name: {model}}}
  training: {{globalBatchSize: {batch}, sequenceLength: 512, precision: FP32, steps: 100}}
  elasticity: {{redundancy: None}}
"""


def gpu_pool(name, zone, accelerator, gpus, nodes, price):
    return f"""apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {{name: {name}}}
spec: {{region: {zone[:-2]}, zone: {zone}, accelerator: {accelerator}, provisioning: Spot, gpusPerNode: {gpus}, maxNodes: {nodes}, pricePerGpuHour: "{price}"}}
"""


class PlanQuality(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mixed = cls.write("mixed.yaml", "---\n".join([gpu_pool("h100", "us-west1-a", "nvidia-h100-80gb", 4, 3, 4),
                                                          gpu_pool("l4", "us-central1-a", "nvidia-l4", 4, 3, 0.28),
                                                          gpu_pool("a100", "us-west1-a", "nvidia-tesla-a100", 1, 3, 1.468)]))

    def estimate(self, job, cluster, *options):
        done = sailor("plan", "-f", job, "--cluster", cluster, "-o", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["estimate"]

    def seconds(self, job, cluster, *options):
        return self.estimate(job, cluster, *options)["iterationSeconds"]

    def gpt2(self, objective):
        return self.write("gpt2.yaml", GPT2.format(objective=objective))

    def test_a_plan_that_keeps_a_limit_is_found_with_this_limit(self):
        limits = [0.00095, 0.0011278, 0.00118190, 0.0012, 0.0014]
        plans = [self.estimate(self.gpt2(f'type: MaxThroughput, maxCostPerIteration: "{limit:.8f}"'), self.mixed) for limit in limits]
        for limit, plan in zip(limits, plans):
            for other in plans:
                if other["costPerIteration"] <= limit:
                    self.assertLessEqual(plan["iterationSeconds"], 1.01 * other["iterationSeconds"], limit)

    def test_what_one_objective_reaches_can_be_asked_of_the_other(self):
        for limit in (0.00095, 0.0012, 0.0014):
            fast = self.estimate(self.gpt2(f'type: MaxThroughput, maxCostPerIteration: "{limit}"'), self.mixed)
            for share in (0.9, 0.999):
                cheap = self.estimate(self.gpt2(f'type: MinCost, minThroughput: "{share * fast["throughput"]:.6f}"'), self.mixed)
                self.assertLessEqual(cheap["costPerIteration"], 1.01 * fast["costPerIteration"], f"{limit} {share}")

    def test_a_running_plan_that_keeps_a_limit_does_not_end_the_search_for_better_ones(self):
        cheapest = sailor("plan", "-f", self.gpt2("type: MinCost"), "--cluster", self.mixed, "-o", "json")
        running = self.write("running.json", cheapest.stdout)
        job = self.gpt2('type: MaxThroughput, maxCostPerIteration: "0.0012"')
        self.assertLessEqual(self.seconds(job, self.mixed, "--current", running), 1.01 * self.seconds(job, self.mixed))

    def test_a_limit_on_cost_finds_what_one_on_the_hourly_price_finds_also_on_hundreds_of_gpus(self):
        pools = self.write("many.yaml", "---\n".join([gpu_pool("a100", "us-central1-a", "nvidia-tesla-a100", 8, 12, 3),
                                                      gpu_pool("l4", "us-central1-a", "nvidia-l4", 8, 12, 0.6),
                                                      gpu_pool("v100", "us-central1-a", "nvidia-tesla-v100", 8, 6, 1)]))
        job = OPT.format(model="opt-350m", batch=512).replace("FP32", "BF16").replace("512, precision", "1024, precision")

        def planned(limit):
            return self.estimate(self.write("limited.yaml", f"{job}  objective: {{type: MaxThroughput, {limit}}}\n"), pools)
        for rate in (60, 141):
            known = planned(f'maxCostPerHour: "{rate}"')
            found = planned(f'maxCostPerIteration: "{1.0001 * known["costPerIteration"]:.8f}"')
            self.assertLessEqual(found["iterationSeconds"], 1.05 * known["iterationSeconds"], rate)

    def test_the_stated_region_of_zones_counts_not_their_names(self):
        def planned(first, second):
            pools = [gpu_pool(zone, zone, "nvidia-tesla-a100", 1, 3, 1.5).replace(f"region: {zone[:-2]}", "region: lab")
                     for zone in (first, second)]
            estimate = self.estimate(self.gpt2("type: MaxThroughput"), self.write("lab.yaml", "---\n".join(pools)))
            return estimate["iterationSeconds"], estimate["costPerIteration"]
        self.assertEqual(planned("lab-a", "lab-b"), planned("rack1", "rack2"))

    def test_of_plans_that_cost_nothing_the_fastest_is_chosen(self):
        free = self.write("free.yaml", gpu_pool("own", "lab-a", "nvidia-tesla-a100", 4, 4, 0))
        self.assertLessEqual(self.seconds(self.gpt2("type: MinCost"), free), 1.01 * self.seconds(self.gpt2("type: MaxThroughput"), free))

    def test_a_running_plan_that_keeps_the_limit_stays_although_its_fast_estimate_does_not(self):
        done = sailor("plan", "-f", self.gpt2('type: MaxThroughput, maxCostPerIteration: "0.0012"'), "--cluster", self.mixed, "-o", "json")
        running = json.loads(done.stdout)
        limit = 1.0005 * running["estimate"]["costPerIteration"]
        again = self.seconds(self.gpt2(f'type: MaxThroughput, maxCostPerIteration: "{limit:.9f}"'), self.mixed,
                             "--current", self.write("running.json", done.stdout), "--repair")
        self.assertLessEqual(again, running["estimate"]["iterationSeconds"])

    def test_a_limit_on_tensor_parallelism_makes_no_plan_faster(self):
        examples = ROOT / "crds/examples"
        cases = [(str(examples / "gke-l4.yaml"), str(examples / "gke-l4-pools.yaml"))]
        for model, redundancy, accelerator, provisioning in (("gpt-neo-2.7b", "Auto", "nvidia-h100-80gb", "OnDemand"),
                                                             ("opt-350m", "None", "nvidia-tesla-a100", "Spot")):
            cases.append((self.write(f"{model}.yaml", JOB.format(model=model, redundancy=redundancy)),
                          self.write(f"{accelerator}.yaml", POOL.format(accelerator=accelerator, provisioning=provisioning))))
        for job, cluster in cases:
            free = self.seconds(job, cluster)
            for most in ("1", "2"):
                self.assertLessEqual(free, 1.005 * self.seconds(job, cluster, "--max-tensor-parallel", most), f"{job}: {most}")

    def test_pools_that_no_good_plan_uses_make_no_plan_slower(self):
        cases = [([("us-central1-b", "nvidia-gh200", 8, 7)], [("us-central1-a", "nvidia-l4", 4, 43)], "opt-350m", 256),
                 ([("us-central1-b", "nvidia-gh200", 8, 7)], [("us-central1-b", "nvidia-tesla-a100", 1, 90)], "opt-350m", 256)]
        for used, useless, model, batch in cases:
            job = self.write("opt.yaml", OPT.format(model=model, batch=batch))
            with_all, with_used = (self.seconds(job, self.cluster_of(pools)) for pools in (used + useless, used))
            self.assertLessEqual(with_all, 1.005 * with_used, f"{used} and {useless}")

    def cluster_of(self, pools):
        return self.write("pools.yaml", "---\n".join(gpu_pool(f"pool-{i}", *pool, 2) for i, pool in enumerate(pools)))

    def test_the_names_of_zones_change_no_plan(self):
        pools = [("a", "nvidia-l4", 8, 1), ("b", "nvidia-tesla-v100", 8, 2), ("b", "nvidia-tesla-a100", 4, 1)]
        job = self.write("opt.yaml", OPT.format(model="opt-1.3b", batch=128))
        seconds = [self.seconds(job, self.cluster_of([(f"us-central1-{zones[zone]}", *rest) for zone, *rest in pools]))
                   for zones in ({"a": "a", "b": "b"}, {"a": "b", "b": "a"})]
        self.assertEqual(*seconds)


if __name__ == "__main__":
    unittest.main()
