#!/usr/bin/env python3
"""Runs test suites, shows each test as it ends, and closes with one line: N passed, N failed[, N skipped].

  run_tests.py [--fresh-seed] [--changed] [SUITE...]

ctest runs the suites unit, slow, long and gpu, which are labels of the C++ and Python tests; go test runs the suite
cluster, and with it, if the suite long is chosen as well, the files with the build tag long. The end-to-end tests run
beside all others; those of them that measure how fast workers compute run last, alone. The suite lint checks the format of all sources and
runs go vet; the suite tidy runs clang-tidy. Without a suite, all of them run but lint, tidy and long. Tests that draw
random inputs use a fixed seed; with --fresh-seed they use a new one, which is printed together with the command that
repeats the run. With --changed, clang-tidy checks for seven minutes what changed since the merge base with origin/main.
docs/testing.md describes all this.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ("lint", "tidy", "unit", "slow", "long", "gpu", "cluster")
OUTPUT = threading.Lock()
# The names of the Go tests that measure how fast workers compute. Beside other tests, all workers are slow.
MEASURES_SPEED = "^TestASlowGpu"
# The package whose tests take as long as those of all others.
END_TO_END = "sailor.dev/tests/e2e"
# What a Go test says of itself, unlike the logs of the programs that it shows: its file and line come first.
GO_MESSAGE = re.compile(r"^\s+\w+\.go:\d+: ")
MESSAGES_SHOWN, LONGEST_MESSAGE = 6, 600
CTEST_LINE = re.compile(r"^\s*\d+/(\d+) Test\s+#\d+: (.*?) \.+\s*(.*?)\s+([\d.]+) sec")


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []
        self.reasons = {}  # of skipped and failed tests, by name

    def add(self, name, outcome, seconds):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped.append(name)
        else:
            self.failed.append(name)
        if outcome != "passed" or seconds >= 1 or sys.stdout.isatty():
            show(f"{outcome:8}{seconds:6.1f}s  {name}", transient=outcome == "passed")

    def merge(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reasons.update(other.reasons)


def show(line, transient=False):
    """On a terminal, the next line overwrites the line of a passed test. In a pipe, every line stays."""
    with OUTPUT:
        if sys.stdout.isatty():
            width = os.get_terminal_size().columns
            sys.stdout.write("\r\033[K" + line[: width - 1] + ("" if transient else "\n"))
            sys.stdout.flush()
        else:
            print(line, flush=True)


def ctest(labels):
    """ctest prints a line for each test. Details of failures follow at the end and are passed through."""
    tally = Tally()
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
    if process.returncode != 0:
        show("\n".join(output))
    if tally.skipped or tally.failed:
        tally.reasons.update(reasons_in(report))
    if seen == 0 or (process.returncode != 0 and not tally.failed):
        tally.failed.append(f"ctest ended with status {process.returncode} after {seen} tests")
    return tally


def without_parameter(name):
    """Removes the bytes of the parameter that ctest appends to the name of a parametrised test."""
    return name.partition("  # GetParam()")[0]


def reasons_in(report):
    """googletest writes the location of a skip or of a failed check on one line, and what it has to say on those that follow."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        lines = (case.findtext("system-out") or "").splitlines()
        for at, line in enumerate(lines):
            if line.endswith((": Skipped", ": Failure")):
                count = 1 if line.endswith("Skipped") else MESSAGES_SHOWN
                found.setdefault(without_parameter(case.get("name")), shortened(lines[at + 1 :][:count]))
    return found


def reason_of_go(output):
    """Returns the last messages of a failed test."""
    return shortened([line for line in output.splitlines() if GO_MESSAGE.match(line)][-MESSAGES_SHOWN:])


def shortened(lines):
    return "\n  ".join(line.strip()[:LONGEST_MESSAGE] for line in lines)


def go_binary():
    local = ROOT / ".deps/go/bin/go"
    return str(local) if local.exists() else "go"


def run_check(name, command, tally, folder=ROOT):
    """A check counts as a test. Its output is passed through, because it says what was checked."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env={**os.environ, "CGO_ENABLED": "0"})
    tally.add(name, "passed" if done.returncode == 0 else "failed", time.monotonic() - began)


def lint(tally):
    run_check("lint.format", [str(ROOT / "scripts/format.sh"), "--check"], tally)
    run_check("lint.go-vet", [go_binary(), "vet", "-tags=long", "./..."], tally, ROOT / "tests")


def tidy(only_changed, tally):
    run_check("lint.clang-tidy", [str(ROOT / "scripts/tidy.sh")] + (["--changed", "420"] if only_changed else []), tally)


def go_test(tags, selection):
    """go test -json prints an event per line. The output of a test is kept until it is known whether the test fails."""
    tally = Tally()
    # -vet=off: for each of the 2,757 packages that the tests depend on, vet would run once. `make tidy` runs it instead.
    command = [go_binary(), "test", "-json", "-count=1", "-p=1", "-timeout=90m" if tags else "-timeout=75m", "-vet=off",
               f"-tags={tags}", *selection]
    # Without cgo, as in scripts/build_cluster.sh, so that both share the compiled packages in Go's cache.
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
    return tally


def packages_but(excluded):
    """Returns the Go packages in tests/ that have tests, without that one."""
    with_tests = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
    # -e, because folders of C++ tests are no Go packages.
    listed = subprocess.run([go_binary(), "list", "-e", "-f", with_tests, "./..."], cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True, check=True)
    return [package for package in listed.stdout.split() if package != excluded]


def finish_go(tally, name, action, seconds, output):
    package, test = name
    if test is None:  # the result of a whole package; it counts only if the package failed outside its tests
        if action == "fail" and not any(failed.startswith(package + ".") for failed in tally.failed):
            tally.failed.append(package)
            show(output)
        return
    outcome = {"pass": "passed", "fail": "failed", "skip": "skipped"}[action]
    tally.add(f"{package}.{test}", outcome, seconds)
    if outcome != "passed":
        show(output.rstrip("\n"))
        tally.reasons[f"{package}.{test}"] = reason_of_go(output)


def set_fresh_seed():
    """The tests read the variable; a value that is set already stays, so that a run can be repeated."""
    seed = os.environ.setdefault("SAILOR_TEST_SEED", str(random.randrange(2**32)))
    show(f"random seed {seed}; to repeat: SAILOR_TEST_SEED={seed} scripts/run_tests.py {' '.join(sys.argv[1:])}")


OPTIONS = ("--fresh-seed", "--changed")


def suites_of(arguments):
    unknown = [argument for argument in arguments if argument not in SUITES and argument not in OPTIONS]
    if unknown:
        sys.exit(f"{', '.join(unknown)} is unknown; test suites are {', '.join(SUITES)}, and options {', '.join(OPTIONS)}")
    names = [argument for argument in arguments if argument in SUITES]
    return names or [name for name in SUITES if name not in ("lint", "tidy", "long")]


def main(arguments):
    suites = suites_of(arguments)
    if "--fresh-seed" in arguments:
        set_fresh_seed()
    began, tally = time.monotonic(), Tally()
    if "lint" in suites:
        lint(tally)
    if "tidy" in suites:
        tidy("--changed" in arguments, tally)
    labels = [suite for suite in suites if suite not in ("lint", "tidy", "cluster")]
    tags = "long" if "long" in suites else ""
    # Side by side, because the tests on the local Kubernetes mostly wait. Each Go package has a cluster of its own.
    # ctest begins after the shorter Go tests: unlike them, it keeps all processors busy when the end-to-end tests are over.
    lanes = [[], []]
    if "cluster" in suites:
        lanes[0].append(lambda: go_test(tags, [f"-skip={MEASURES_SPEED}", *packages_but(END_TO_END)]))
        lanes[1].append(lambda: go_test(tags, [f"-skip={MEASURES_SPEED}", END_TO_END]))
    if labels:
        lanes[0].append(lambda: ctest(labels))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for tallies in pool.map(lambda lane: [run() for run in lane], lanes):
            for done in tallies:
                tally.merge(done)
    if "cluster" in suites:
        tally.merge(go_test(tags, [f"-run={MEASURES_SPEED}", END_TO_END]))
    # Once more, because the beginning of a long output may be out of sight.
    for word, names in (("skipped", tally.skipped), ("FAILED", tally.failed)):
        for name in names:
            show(f"{word}: {name}: {tally.reasons.get(name) or 'see above'}")
    show(f"{time.monotonic() - began:.0f} s")
    skipped = f", {len(tally.skipped)} skipped" if tally.skipped else ""
    show(f"{tally.passed} passed, {len(tally.failed)} failed{skipped}")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
