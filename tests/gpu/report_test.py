#!/usr/bin/env python3
"""Tests what the proof on a GPU writes, and that its steps are those of docs/gpu.md."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/gpu"), str(ROOT / "tests/support")]
import agents  # noqa: E402
import models  # noqa: E402
import proof  # noqa: E402
from machine import largest_difference  # noqa: E402
from report import Report  # noqa: E402

MACHINE = {"device": "cpu"}


class ReportOfAProof(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "gpu-proof.json"

    def step(self, name, write, machine=MACHINE):
        report = Report(self.file, machine)
        report.begin(name, "a step")
        write(report)
        report.end(1)
        return report

    def test_a_number_passes_only_within_its_limits(self):
        report = self.step("A", lambda report: [report.number("rate", 0.8, "x", at_least=0.9), report.number("loss", 1e-5, at_most=1e-4),
                                                report.number("time", 3.0, "s")])
        self.assertEqual(report.outcomes(["A"]), ["failed", "passed", "reported"])

    def test_a_number_that_is_none_does_not_pass(self):
        report = self.step("A", lambda report: report.number("loss", float("nan"), at_most=1e-4))
        self.assertEqual(report.outcomes(["A"]), ["failed"])

    def test_the_table_has_every_step_that_ran_and_why_a_check_was_skipped(self):
        self.step("B", lambda report: report.skip("speed", "no GPU"))
        table = self.step("A", lambda report: report.number("rate", 0.8, "x", at_least=0.9)).table()
        self.assertIn("| A | rate | 0.8 x | >= 0.9 | **failed** |", table)
        self.assertIn("| B | speed |  |  | skipped: no GPU |", table)

    def test_a_step_that_runs_again_replaces_its_checks(self):
        self.step("A", lambda report: report.fail("it starts", "no library"))
        report = self.step("A", lambda report: report.holds("it starts", True))
        self.assertEqual(report.outcomes(["A"]), ["passed"])

    def test_steps_of_another_machine_are_dropped(self):
        self.step("A", lambda report: report.holds("it starts", True))
        self.step("B", lambda report: report.holds("it starts", True), {"device": "gpu"})
        self.assertEqual(list(json.loads(self.file.read_text())["steps"]), ["B"])


class Proof(unittest.TestCase):
    def test_losses_are_compared_in_the_steps_that_both_have(self):
        self.assertAlmostEqual(largest_difference({1: 2.0, 2: 1.1, 9: 5.0}, {1: 2.0, 2: 1.0}), 0.1)
        with self.assertRaises(RuntimeError):
            largest_difference({1: 2.0}, {2: 2.0})

    def test_a_plan_gives_each_worker_one_role(self):
        job = agents.Job(models.TINY_GPT2, "tokens.bin")
        pods = [type("Pod", (), {"name": f"pod-{i}", "host": "", "gpus": 1}) for i in range(4)]
        stages = [agents.Stage(0, 3, [3, 1], [2, 1])]
        workers = agents.assignment(job, stages, pods)["workers"]
        self.assertEqual([worker.get("role") for worker in workers],
                         [{"stage": 0, "replica": 0, "shard": 0}, {"stage": 0, "replica": 0, "shard": 1},
                          {"stage": 0, "replica": 1, "shard": 0}, None])

    def test_parameters_are_those_of_published_models(self):
        millions = {name: models.parameters(model) / 1e6 for name, (model, _) in models.SPEED.items()}
        for name, published in (("124M", 124), ("350M", 355), ("1.3B", 1312), ("1B LLaMA", 1236)):
            self.assertAlmostEqual(millions[name] / published, 1, delta=0.02, msg=name)

    def test_the_page_describes_every_step(self):
        page = (ROOT / "docs/gpu.md").read_text()
        for step, (what, _) in proof.STEPS.items():
            self.assertIn(f"| {step} | {what} |", page)


if __name__ == "__main__":
    unittest.main()
