#!/usr/bin/env python3
"""`sailor paper`: on a small artifact of its own, its three formats, and its answers to wrong input.

usage: paper_test.py SAILOR ROOT
"""

import json
import os
import unittest

from program import ProgramTest, sailor

MODELS = {"OPT-350": 26, "GPT-Neo-2.7": 34}


def times(layers):
    """Times of a GPU that takes 1 ms for the forward pass of a sample through a layer."""
    return {str(size): {str(group): {str(layer): [1e-3 * size / group, 2e-3 * size / group, 1e-4]
                                     for layer in range(layers)}
                        for group in (1, 2, 4)}
            for size in (1, 2, 4, 8)}


def memory(layers):
    layer = {"params_floats": 1e6, "act_mem_floats": 1e6, "act_output_floats": 2e6}
    return {str(group): {str(number): layer for number in range(layers)} for group in (1, 2, 4)}


def job(model, batch):
    return {"model": model, "global_batch_size": batch, "sequence_length": 2048}


ARTIFACT = {
    "layer_times.json": {model: {gpu: times(layers) for gpu in ("A100-40", "V100-16")}
                         for model, layers in MODELS.items()},
    "layer_memory.json": {model: memory(layers) for model, layers in MODELS.items()},
    "basic_cluster_config.json": {"A100-40": {"gpus_per_node": 4}, "V100-16": {"gpus_per_node": 4}},
    "training_config_opt_350.json": job("OPT-350", 64),
    "training_config_gpt_neo27.json": job("GPT-Neo-2.7", 64),
}
TRACE = ",Timestamp,A100-40_us-central1-a\n0,0.5,4\n1,1.5,8\n2,2.5,16"


class Paper(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in ARTIFACT.items():
            cls.write(f"artifact/{name}", json.dumps(content))
        cls.write("artifact/gpu_trace_scaled.csv", TRACE)
        cls.artifact = os.path.join(cls.folder.name, "artifact")

    def result_of(self, *arguments):
        done = sailor("paper", self.artifact, *arguments, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_cases_of_a_figure_have_the_gpus_of_the_trace(self):
        (figure,) = self.result_of("--only", "7")["experiments"]
        self.assertEqual([case["name"] for case in figure["cases"]], ["32 A100", "80 A100", "128 A100"])
        for case, available in zip(figure["cases"], (4, 8, 16)):
            for plan in case["plans"]:
                self.assertLessEqual(sum(plan["gpus"].values()), available)
                self.assertGreater(plan["sailorPaper"]["iterationsPerSecond"], 0)
                self.assertGreater(plan["trainer"]["dollarsPerIteration"], 0)

    def test_every_case_is_planned_by_us_in_three_ways(self):
        (figure,) = self.result_of("--only", "10")["experiments"]
        for case in figure["cases"]:
            self.assertEqual([plan["planner"] for plan in case["plans"]], ["ours, paper", "ours, flow", "ours, trainer"])

    def test_several_experiments_are_shown_in_the_order_of_the_request(self):
        shown = self.result_of("--only", "10", "--only", "t1")["experiments"]
        self.assertEqual([experiment["id"] for experiment in shown], ["10", "t1"])

    def test_the_papers_value_stands_beside_ours(self):
        (figure,) = self.result_of("--only", "1")["experiments"]
        claim = figure["claims"][0]
        self.assertEqual(claim["paper"], 1.15)
        self.assertIsNone(claim["recorded"], "no plans were recorded for this figure")
        plans = [case["plans"][0]["sailorPaper"]["iterationsPerSecond"] for case in figure["cases"]]
        self.assertAlmostEqual(claim["oursPaper"], plans[2] / plans[0])

    def test_recorded_plans_are_compared(self):
        plan = {"model": "opt-350m", "globalBatchSize": 64, "microbatchSize": 1,
                "stages": [{"layers": [0, 26],
                            "replicas": [{"pool": "us-central1-a/nvidia-tesla-a100/ondemand", "tensorParallel": 1,
                                          "microbatches": 16, "count": 4}]}]}
        recorded = {"plan": plan, "peer": {"iterationsPerSecond": 0.1, "dollarsPerIteration": 2, "searchSeconds": 9}}
        for folder in ("fig7-0", "fig7-2"):
            for planner in ("sailor", "amp"):
                self.write(f"plans/{folder}/{planner}.json", json.dumps(recorded))
        (figure,) = self.result_of("--only", "7", "--peer-plans", f"{self.folder.name}/plans")["experiments"]
        sailors, others, *ours = figure["cases"][0]["plans"]
        self.assertEqual((sailors["planner"], others["planner"], len(ours)), ("sailor", "amp", 3))
        self.assertEqual(sailors["recorded"], {"iterationsPerSecond": 0.1, "dollarsPerIteration": 2})
        over_amp = next(claim for claim in figure["claims"] if claim["claim"] == "throughput over AMP, mean")
        self.assertEqual(over_amp["recorded"], 1)

    def test_tables_and_pages_name_the_experiment(self):
        for output, text in (("table", "Figure 10: A small cluster"), ("html", "<h2>Figure 10: A small cluster"),
                             ("markdown", "### Figure 10: A small cluster")):
            done = sailor("paper", self.artifact, "--only", "10", "-o", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(text, done.stdout)
            self.assertIn("Section 5.5", done.stdout, "what cannot be simulated is listed with the reason")

    def test_a_missing_folder_is_bad_input(self):
        self.assert_refused(sailor("paper", "/nowhere"), 2, "/nowhere: is not a folder", "Sailor's artifact")
        self.assert_refused(sailor("paper", self.artifact, "--peer-plans", "/nowhere"), 2, "--peer-plans /nowhere")
        self.assert_refused(sailor("paper", self.artifact, "--measured", "/nowhere"), 2, "/nowhere: is not a folder")

    def test_a_folder_without_the_files_is_bad_input(self):
        self.assert_refused(sailor("paper", self.folder.name), 2, "contains no layer_times.json")
        self.assert_refused(sailor("paper", self.artifact, "--peer-plans", self.artifact, "--only", "7"), 2, "fig7-0",
                            "check --peer-plans")
        self.assert_refused(sailor("paper", self.artifact, "--measured", f"{self.folder.name}"), 2)

    def test_a_figure_without_its_trace_is_bad_input(self):
        self.assert_refused(sailor("paper", self.artifact, "--only", "12"), 2, "gpu_trace_multizone.csv",
                            "cannot be read")

    def test_an_unknown_figure_is_refused_with_the_known_ones(self):
        self.assert_refused(sailor("paper", self.artifact, "--only", "99"), 2, "--only: 99", "8a", "t3")

    def test_without_a_folder_the_usage_is_named(self):
        self.assert_refused(sailor("paper"), 2, "sailor paper --help")


if __name__ == "__main__":
    unittest.main()
