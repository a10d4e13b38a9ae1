#!/usr/bin/env python3
"""Checks the alerts of the chart with promtool: each fires in one case at least, and none fires in the quiet ones.

usage: alerts_test.py ROOT
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
PROMTOOL = ROOT / ".deps/prometheus/usr/bin/promtool"
ALERTS = ROOT / "charts/sailor/files/alerts.yaml"
CASES = ROOT / "tests/monitoring/alerts"
RUNBOOK = ROOT / "docs/runbook.md"


def alerts():
    return re.findall(r"^ *- alert: (\w+)$", ALERTS.read_text(encoding="utf-8"), re.MULTILINE)


def promtool(*arguments):
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Alerts(unittest.TestCase):
    def test_rules_are_valid(self):
        status, output = promtool("check", "rules", "--lint=all", "--lint-fatal", str(ALERTS))
        self.assertEqual(status, 0, output)

    def test_they_fire_in_their_cases_and_stay_quiet_in_others(self):
        for case in sorted(CASES.glob("*_test.yaml")):
            with self.subTest(case=case.name):
                status, output = promtool("test", "rules", str(case))
                self.assertEqual(status, 0, output)

    def test_every_alert_has_a_case_in_which_it_fires(self):
        firing = (CASES / "firing_test.yaml").read_text(encoding="utf-8")
        self.assertGreater(len(alerts()), 0)
        for alert in alerts():
            self.assertIn(f'alertname="{alert}"', firing)

    def test_every_alert_has_a_section_in_the_runbook(self):
        sections = re.findall(r"^## (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(sorted(sections), sorted(alerts()))


if __name__ == "__main__":
    unittest.main()
