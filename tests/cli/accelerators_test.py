#!/usr/bin/env python3
"""Accelerators outside the catalogue: what the commands do with pools of them, and with pools that describe them.

usage: accelerators_test.py SAILOR ROOT
"""

import json
import unittest

from program import ProgramTest, sailor

JOB = """apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {{name: job}}
spec:
  model: {{name: opt-125m}}
  training: {{globalBatchSize: 64, sequenceLength: 1024, steps: 10}}
  data: {{format: Bytes, path: /data/*.txt}}
  resources: {resources}
"""
POOL = """---
apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {{name: {accelerator}}}
spec:
  region: us-central1
  zone: us-central1-a
  accelerator: {accelerator}
  gpusPerNode: 4
  nodes: 2
  provisioning: Spot
  pricePerGpuHour: "0.5"
"""
FIGURES = """  gpu:
    memoryGib: "80"
    teraflops: {fp32: "400", bf16: "800"}
    memoryGigabytesPerSecond: "3000"
"""
KNOWN = POOL.format(accelerator="nvidia-l4")
UNKNOWN = POOL.format(accelerator="nvidia-abacus")
LEFT_OUT = ("pool us-central1-a/nvidia-abacus/spot is left out, because its accelerator is unknown; correct its name, "
            "or state the memory and the rates of its GPUs in spec.gpu")


class Accelerators(ProgramTest):
    def run_on(self, pools, command="plan", *flags, resources="{}"):
        self.job = self.write("job.yaml", JOB.format(resources=resources))
        self.cluster = self.write("cluster.yaml", pools)
        return sailor(command, "-f", self.job, "--cluster", self.cluster, *flags)

    def plan_on(self, pools, **more):
        done = self.run_on(pools, "plan", "-o", "json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_pool_of_an_unknown_accelerator_is_left_out_with_a_note(self):
        for order in (KNOWN + UNKNOWN, UNKNOWN + KNOWN):
            planned = self.plan_on(order)
            self.assertEqual(planned["plan"], self.plan_on(KNOWN)["plan"])
            self.assertEqual(planned["estimate"]["notes"].count(LEFT_OUT), 1)
        self.assertIn(f"Note: {LEFT_OUT}\n", self.run_on(KNOWN + UNKNOWN).stdout)

    def test_a_job_that_excludes_the_accelerator_gets_no_note(self):
        planned = self.plan_on(KNOWN + UNKNOWN, resources="{accelerators: [nvidia-l4]}")
        self.assertNotIn("abacus", json.dumps(planned))

    def test_a_job_that_asks_for_the_accelerator_is_refused_with_its_line(self):
        done = self.run_on(KNOWN + UNKNOWN, resources="{accelerators: [nvidia-l4, nvidia-abacus]}")
        self.assert_refused(done, 2, "job.yaml:8: spec.resources.accelerators[1]: ",
                            'accelerator "nvidia-abacus" is unknown', "the known accelerators are nvidia-tesla-t4, ",
                            "spec.gpu of its GpuPool")

    def test_a_pool_that_describes_its_accelerator_is_used(self):
        for resources in ("{}", "{accelerators: [nvidia-abacus]}"):
            planned = self.plan_on(KNOWN + UNKNOWN + FIGURES, resources=resources)
            self.assertEqual(list(planned["estimate"]["gpus"]), ["us-central1-a/nvidia-abacus/spot"])
            self.assertNotIn(LEFT_OUT, planned["estimate"]["notes"])

    def test_figures_of_a_pool_replace_the_catalogue(self):
        faster = self.plan_on(KNOWN + FIGURES)["estimate"]["throughput"]
        self.assertGreater(faster, self.plan_on(KNOWN)["estimate"]["throughput"])

    def test_all_commands_read_what_pools_describe(self):
        plan = self.write("abacus.json", json.dumps(self.plan_on(UNKNOWN + FIGURES)))
        trace = self.write("trace.json", '[{"Time": 0, "GPUs": 8}, {"Time": 600, "GPUs": 8}]')
        for command, *flags in (("simulate", "--plan", plan), ("replay", "--trace", trace), ("render",)):
            with self.subTest(command=command):
                done = self.run_on(UNKNOWN + FIGURES, command, *flags)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.run_on(UNKNOWN, command, *flags).returncode, 2)

    def test_a_plan_on_an_unknown_accelerator_is_refused_with_its_field(self):
        plan = self.write("abacus.json", json.dumps(self.plan_on(UNKNOWN + FIGURES)))
        self.assert_refused(self.run_on(KNOWN + UNKNOWN, "simulate", "--plan", plan), 2,
                            "plan.stages[0].replicas[0].pool: the accelerator of us-central1-a/nvidia-abacus/spot is")

    def test_commands_whose_results_have_no_notes_print_them_to_standard_error(self):
        trace = self.write("trace.json", '[{"Time": 0, "GPUs": 8}, {"Time": 600, "GPUs": 8}]')
        for command, *flags in (("replay", "--trace", f"us-central1-a/nvidia-l4/spot={trace}"), ("render",)):
            with self.subTest(command=command):
                done = self.run_on(KNOWN + UNKNOWN, command, *flags)
                self.assertEqual((done.returncode, done.stderr), (0, f"note: {LEFT_OUT}\n"))

    def test_plan_notes_that_the_image_has_no_kernels(self):
        for accelerator, has_note in (("nvidia-tesla-v100", True), ("nvidia-tesla-t4", False)):
            notes = " ".join(self.plan_on(POOL.format(accelerator=accelerator))["estimate"]["notes"])
            self.assertEqual(f"no kernels for {accelerator}" in notes, has_note, notes)

    def test_validate_accepts_the_pool_with_a_note(self):
        self.run_on(KNOWN + UNKNOWN)
        done = sailor("validate", self.cluster)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.cluster}: valid\n"))
        self.assertRegex(done.stderr, r"\Anote: .*cluster.yaml:20: spec.accelerator: nvidia-abacus is not in the cata")

    def test_absurd_figures_are_refused_with_file_line_and_field(self):
        for before, after, *fragments in [
            ('"80"', '"0"', "spec.gpu.memoryGib: 0 is not between 0.1 and 1000000; check its unit"),
            ('"80"', '"1e12"', "spec.gpu.memoryGib: 1000000000000 is not between"),
            ('"80"', '"-1"', 'spec.gpu.memoryGib: "-1" is invalid'),
            ('"80"', '"NaN"', 'spec.gpu.memoryGib: "NaN" is invalid'),
            ('"80"', "80", "spec.gpu.memoryGib: 80 is invalid: decimals are written in quotes"),
            ('fp32: "400", ', "", "spec.gpu.teraflops.fp32: is missing"),
            ('"3000"', '"much"', 'spec.gpu.memoryGigabytesPerSecond: "much" is invalid'),
        ]:
            with self.subTest(after=after):
                pools = UNKNOWN + FIGURES.replace(before, after, 1)
                self.assert_refused(self.run_on(pools), 2, "cluster.yaml:1", *fragments)
                self.assertIn(fragments[0], sailor("validate", self.cluster).stderr)

    def test_pools_that_disagree_about_an_accelerator_are_refused(self):
        other = (UNKNOWN + FIGURES).replace("name: nvidia-abacus", "name: other").replace("-central1", "-west1")
        self.assert_refused(self.run_on(UNKNOWN + FIGURES + other.replace('"80"', '"40"')), 2,
                            "spec.gpu: GpuPools nvidia-abacus and other state different figures of nvidia-abacus")
        self.assertEqual(self.run_on(UNKNOWN + FIGURES + other).returncode, 0)


if __name__ == "__main__":
    unittest.main()
