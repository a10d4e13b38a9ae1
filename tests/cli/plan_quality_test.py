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


class PlanQuality(ProgramTest):
    def seconds(self, job, cluster, *options):
        done = sailor("plan", "-f", job, "--cluster", cluster, "-o", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["estimate"]["iterationSeconds"]

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


if __name__ == "__main__":
    unittest.main()
