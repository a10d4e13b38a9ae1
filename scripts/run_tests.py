#!/usr/bin/env python3
"""Runs the test suites, shows each test as it ends, and closes with one line: N passed, N failed[, N skipped].

Suites: the C++ tests through ctest and the Go tests, those on the local cluster among them, through go test.
  run_tests.py [unit] [slow] [gpu] [cluster]     all of them where none is named
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CTEST_LINE = re.compile(r"^\s*\d+/(\d+) Test\s+#\d+: (.*?) \.+\s*(.*?)\s+([\d.]+) sec")


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []
        self.reasons = {}  # of skipped tests, by name

    def add(self, name, outcome, seconds):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped.append(name)
        else:
            self.failed.append(name)
        if outcome != "passed" or seconds >= 1 or sys.stdout.isatty():
            show(f"{outcome:8}{seconds:6.1f}s  {name}", transient=outcome == "passed")


def show(line, transient=False):
    """On a terminal a passed test's line is overwritten by the next one; in a pipe every line stays."""
    if sys.stdout.isatty():
        width = os.get_terminal_size().columns
        sys.stdout.write("\r\033[K" + line[: width - 1] + ("" if transient else "\n"))
        sys.stdout.flush()
    else:
        print(line, flush=True)


def ctest(labels, tally):
    """ctest prints one line a test; details of failures follow at the end and are passed through."""
    report = ROOT / "build/dev/ctest.xml"
    command = ["ctest", "--test-dir", str(ROOT / "build/dev"), "--output-on-failure", "--no-label-summary", "-j2",
               "--output-junit", str(report), "-L", "|".join(f"^{label}$" for label in labels)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen, output = 0, []
    for line in process.stdout:
        match = CTEST_LINE.match(line)
        if not match:
            output.append(line.rstrip("\n"))
            continue
        seen += 1
        _, name, status, seconds = match.groups()
        name = without_parameter(name)
        outcome = "passed" if status == "Passed" else "skipped" if "Skipped" in status else "failed"
        tally.add(name, outcome, float(seconds))
        if outcome == "failed":
            output.append("")
    process.wait()
    if tally.failed or process.returncode != 0:
        show("\n".join(output))
    if tally.skipped:
        tally.reasons.update(reasons_of_skipped(report))
    if seen == 0 or (process.returncode != 0 and not tally.failed):
        tally.failed.append(f"ctest ended with status {process.returncode} after {seen} tests")


def without_parameter(name):
    """ctest puts the bytes of a parametrised test's parameter behind its name, which says all that people need."""
    return name.partition("  # GetParam()")[0]


def reasons_of_skipped(report):
    """In the output of a test that googletest skips, the reason follows the line with the place."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        lines = (case.findtext("system-out") or "").splitlines()
        for line, following in zip(lines, lines[1:]):
            if line.endswith(": Skipped"):
                found[without_parameter(case.get("name"))] = following
    return found


def go_binary():
    local = ROOT / ".deps/go/bin/go"
    return str(local) if local.exists() else "go"


def go_test(tally):
    """go test -json: one event a line; the output of a test is kept until it is known to have failed."""
    command = [go_binary(), "test", "-json", "-count=1", "-p=1", "-timeout=30m", "./..."]
    # Without cgo, as scripts/build_cluster.sh builds: so that both share what the Go cache holds.
    process = subprocess.Popen(command, cwd=ROOT / "tests", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, "CGO_ENABLED": "0"})
    output = {}
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            show(line.rstrip("\n"))
            continue
        name = (event.get("Package", event.get("ImportPath", "")), event.get("Test"))
        action = event.get("Action")
        if action in ("output", "build-output"):
            output.setdefault(name, []).append(event["Output"])
        elif action in ("pass", "fail", "skip"):
            finish_go(tally, name, action, event.get("Elapsed", 0.0), "".join(output.pop(name, [])))
        elif action == "build-fail":
            show("".join(output.pop(name, [])))
    process.wait()
    if process.returncode != 0 and not tally.failed:
        tally.failed.append(f"go test ended with status {process.returncode}")


def finish_go(tally, name, action, seconds, output):
    package, test = name
    if test is None:  # a whole package: counts only where it failed outside of its tests
        if action == "fail" and not any(failed.startswith(package + ".") for failed in tally.failed):
            tally.failed.append(package)
            show(output)
        return
    outcome = {"pass": "passed", "fail": "failed", "skip": "skipped"}[action]
    tally.add(f"{package}.{test}", outcome, seconds)
    if outcome != "passed":
        show(output.rstrip("\n"))


def main(arguments):
    suites = arguments or ["unit", "slow", "gpu", "cluster"]
    began, tally = time.monotonic(), Tally()
    labels = [suite for suite in suites if suite in ("unit", "slow", "gpu")]
    if labels:
        ctest(labels, tally)
    if "cluster" in suites:
        go_test(tally)
    for name in tally.skipped:
        show(f"skipped: {name}: {tally.reasons.get(name, 'see above')}")
    for name in tally.failed:
        show(f"FAILED: {name}")
    show(f"{time.monotonic() - began:.0f} s")
    skipped = f", {len(tally.skipped)} skipped" if tally.skipped else ""
    show(f"{tally.passed} passed, {len(tally.failed)} failed{skipped}")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
