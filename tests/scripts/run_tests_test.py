#!/usr/bin/env python3
"""Tests what scripts/run_tests.py accepts, and what it says at its end of tests that did not pass."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import run_tests  # noqa: E402


class Arguments(unittest.TestCase):
    def test_an_unknown_suite_or_option_runs_nothing(self):
        for argument in ("--help", "units"):
            with self.assertRaisesRegex(SystemExit, f"{argument} is unknown; test suites are lint, .* and options --fresh-seed"):
                run_tests.main([argument])

    def test_without_a_suite_all_run_but_those_for_developers(self):
        self.assertEqual(run_tests.suites_of(["--fresh-seed"]), ["unit", "slow", "gpu", "cluster"])
        self.assertEqual(run_tests.suites_of(["slow", "--changed"]), ["slow"])


class Packages(unittest.TestCase):
    def test_but_one_are_all_others(self):
        others = run_tests.packages_but(run_tests.END_TO_END)
        self.assertIn("sailor.dev/tests/chart", others)
        self.assertNotIn(run_tests.END_TO_END, others)


class Reasons(unittest.TestCase):
    def test_of_a_go_test_are_its_own_messages_and_not_the_logs_of_programs(self):
        output = "=== RUN TestStorm\n    storm_test.go:51: to repeat: go test\n    storm_test.go:88: the job is gone\n        msg=planned\n--- FAIL: TestStorm"
        self.assertEqual(run_tests.reason_of_go(output), "storm_test.go:51: to repeat: go test\n  storm_test.go:88: the job is gone")

    def test_of_a_go_test_with_many_messages_are_the_last_ones(self):
        output = "\n".join(f"    a_test.go:{line}: message" for line in range(100))
        self.assertEqual(len(run_tests.reason_of_go(output).splitlines()), run_tests.MESSAGES_SHOWN)
        self.assertTrue(run_tests.reason_of_go(output).endswith("a_test.go:99: message"))

    def test_of_a_cpp_test_follow_the_place_of_its_first_failure(self):
        self.assertEqual(self.reasons("a_test.cc:7: Failure\nExpected: 1\n  Actual: 2"), {"Sum.Holds": "Expected: 1\n  Actual: 2"})

    def test_of_a_skipped_cpp_test_are_one_line(self):
        self.assertEqual(self.reasons("a_test.cc:7: Skipped\nno GPU\n[  SKIPPED ] Sum.Holds"), {"Sum.Holds": "no GPU"})

    def reasons(self, output):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "ctest.xml"
            report.write_text(f'<testsuite><testcase name="Sum.Holds"><system-out>{output}</system-out></testcase></testsuite>')
            return run_tests.reasons_in(report)


if __name__ == "__main__":
    unittest.main()
