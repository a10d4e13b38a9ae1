#!/usr/bin/env python3
"""Runs all benchmarks; prints a table and writes build/bench.json: a list of {name, value, unit, goal, holds}.

Four kinds: Google Benchmarks in build/dev/bench, whose counters named goal and value (or whose time) become rows;
tests/bench/trainer_bench.py, which runs the trainer and PyTorch by turns; build/bin/sailor-bench, which measures the
whole system on the local Kubernetes; and the storm of tests/e2e with a hundred events. The middle two print rows of
their own.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from run_tests import go_binary

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def row(name, value, unit, goal=None):
    """A goal is an upper limit; without one the row only informs."""
    return {"name": name, "value": value, "unit": unit, "goal": goal, "holds": None if goal is None else value <= goal}


def google_benchmark(program):
    print(f"[bench] {program.name}", file=sys.stderr)
    command = [str(program), "--benchmark_format=json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    rows = []
    for result in json.loads(done.stdout)["benchmarks"]:
        if result.get("error_occurred"):
            print(f"[bench] skipped {result['name']}: {result['error_message']}", file=sys.stderr)
            continue
        seconds = result["real_time"] * SECONDS[result["time_unit"]]
        rows.append(row(result["name"], seconds, "s", result.get("goal")))
        for counter in ("peak_MiB", "bound_gap"):  # beside the time, each with a goal of its own
            if counter in result:
                rows.append(row(f"{result['name']}/{counter}", result[counter], "", result[f"goal_{counter}"]))
    return rows


def rows_of(what, command):
    """Those that the command prints. One that fails is a row too: the other benchmarks are run all the same."""
    print(f"[bench] {what}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE)
    rows = [row(**measured) for measured in json.loads(done.stdout or "[]") or []]
    return rows if done.returncode == 0 else [*rows, row(f"{what}: failed", 1, "", 0)]


def trainer():
    return rows_of("the trainer beside PyTorch and the simulator", [sys.executable, str(ROOT / "tests/bench/trainer_bench.py")])


def system():
    return rows_of("the whole system on the local Kubernetes", [str(ROOT / "build/bin/sailor-bench")])


def storm():
    """Make test's storm of random events: that test says itself what went wrong."""
    events = os.environ.get("SAILOR_STORM_EVENTS", "100")
    print(f"[bench] a job under {events} random events", file=sys.stderr)
    command = [go_binary(), "test", "-v", "-count=1", "-timeout=60m", "-run=TestAJobUnderRandomEvents", "./e2e"]
    done = subprocess.run(command, cwd=ROOT / "tests", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "CGO_ENABLED": "0", "SAILOR_STORM_EVENTS": events})
    sys.stderr.write(done.stdout)
    rows = [row(f"a job under {events} random events: failed", 0 if done.returncode == 0 else 1, "", 0)]
    difference = re.search(r"the losses differ most at step \d+, by (\S+) of", done.stdout)
    if difference:
        name = f"a job under {events} random events: its loss beside an undisturbed one's, worst step, relative"
        rows.append(row(name, float(difference[1]), "", 1e-4))
    return rows


def table(rows):
    width = max(len(result["name"]) for result in rows)
    for result in rows:
        goal = "" if result["goal"] is None else f"  goal {result['goal']:g}: {'holds' if result['holds'] else 'MISSED'}"
        print(f"{result['name']:<{width}}  {result['value']:>12.4g} {result['unit']:<5}{goal}")


def main():
    rows = []
    for program in sorted((ROOT / "build/dev/bench").glob("*_bench")):
        rows += google_benchmark(program)
    rows += trainer()
    rows += system()
    rows += storm()
    table(rows)
    (ROOT / "build/bench.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(result["name"].endswith(": failed") and not result["holds"] for result in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
