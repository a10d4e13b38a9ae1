#!/usr/bin/env python3
"""Runs benchmarks and prints a table. Writes build/bench.json, a list of {name, value, unit, goal, holds}.

Without arguments it runs all parts: `planner`, `slow`, `regroup`, `pass` and `scrape`, Google Benchmarks in build/dev/bench, whose
time and whose counters become rows; `spot`, tests/bench/spot_bench.py, which replays jobs over traces of spot capacity; `trainer`,
tests/bench/trainer_bench.py, which runs the trainer and PyTorch in turn; `system`, build/bin/sailor-bench, which
measures the whole system on the local Kubernetes; `fleet`, the same program with SAILOR_BENCH_JOB=fleet, which measures the
operator with SAILOR_FLEET_JOBS (default 100) jobs of simulated trainers on a real API server, beside SAILOR_FLEET_FOREIGN
(default 2,000) foreign pods; and `storm`, the test of tests/e2e that trains under a hundred random
events. `spot`, `trainer`, `system` and `fleet` print their rows as JSON. With arguments it runs these parts only.

Each part replaces the table between its markers in a page: that of `planner` in docs/planner.md, that of `slow` in
docs/stragglers.md, that of `spot` in docs/spot.md, and the others in docs/measurements.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

from run_tests import go_binary

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


COUNTERS = {"iteration_seconds": "s", "bound_gap": "", "peak_MiB": "MiB", "over_healthy": "", "over_optimum": "",
            "over_dropping": "", "over_layer_cuts": "", "transferred_MB": "MB", "text_MB": "MB"}


def row(name, value, unit, goal=None):
    """A goal is an upper limit. A row without a goal only informs."""
    return {"name": name, "value": value, "unit": unit, "goal": goal, "holds": None if goal is None else value <= goal}


def google_benchmark(name):
    """Runs a Google Benchmark. Its time becomes a row, and so do some of its counters, with goals of their own."""
    print(f"[bench] {name}", file=sys.stderr)
    command = [str(ROOT / "build/dev/bench" / name), "--benchmark_format=json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    rows = []
    for result in json.loads(done.stdout)["benchmarks"]:
        if result.get("error_occurred"):
            print(f"[bench] skipped {result['name']}: {result['error_message']}", file=sys.stderr)
            continue
        seconds = result["real_time"] * SECONDS[result["time_unit"]]
        name_of_row = result["name"].removesuffix("/real_time")
        rows.append(row(name_of_row, seconds, "s", result.get("goal")))
        for counter, unit in COUNTERS.items():
            if counter in result:
                rows.append(row(f"{name_of_row}/{counter}", result[counter], unit, result.get(f"goal_{counter}")))
    return rows


def rows_of(what, command, **environment):
    """Returns the rows that the command prints. If it fails, a row says so, and the other benchmarks still run."""
    print(f"[bench] {what}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **environment})
    rows = [row(**measured) for measured in json.loads(done.stdout or "[]") or []]
    return rows if done.returncode == 0 else [*rows, row(f"{what}: failed", 1, "", 0)]


def spot():
    return rows_of("jobs over traces of spot capacity", [sys.executable, str(ROOT / "tests/bench/spot_bench.py")])


def trainer():
    return rows_of("the trainer compared with PyTorch and the simulator", [sys.executable, str(ROOT / "tests/bench/trainer_bench.py")])


def system():
    return rows_of("the whole system on the local Kubernetes", [str(ROOT / "build/bin/sailor-bench")])


def fleet():
    return rows_of("the operator with many jobs", [str(ROOT / "build/bin/sailor-bench")], SAILOR_BENCH_JOB="fleet")


def storm():
    """Runs the end-to-end test with random events. The test itself prints what went wrong."""
    events = os.environ.get("SAILOR_STORM_EVENTS", "100")
    print(f"[bench] a job under {events} random events", file=sys.stderr)
    command = [go_binary(), "test", "-v", "-count=1", "-vet=off", "-timeout=60m", "-run=TestAJobUnderRandomEvents", "./e2e"]
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



def markers(part):
    return f"<!-- make bench {part}: begin -->", f"<!-- make bench {part}: end -->"


def machine():
    """Describes the machine by its processor, cores and memory, without its name."""
    model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores ({model[1] if model else 'unknown processor'}), {memory:.0f} GiB of memory"


def number(value):
    return f"{value:,.0f}" if abs(value) >= 10000 else f"{value:.3g}" if abs(value) < 100 else f"{value:,.4g}"


def markdown(rows, date, where):
    """Returns the text that a page has between its markers."""
    lines = [f"{date}, on {where}.", "", "| name | value | unit | goal | holds |", "|---|---|---|---|---|"]
    for result in rows:
        goal, holds = ("", "") if result["goal"] is None else (f"{result['goal']:g}", "yes" if result["holds"] else "**no**")
        lines.append(f"| {result['name']} | {number(result['value'])} | {result['unit']} | {goal} | {holds} |")
    return "\n".join(lines)


def with_table(page, part, text):
    """Returns the page with the text in place of what lies between the part's markers. Raises ValueError if one is missing."""
    begin, end = markers(part)
    return f"{page[:page.index(begin) + len(begin)]}\n{text}\n{page[page.index(end):]}"


def page_of(part):
    return ROOT / "docs" / PAGES.get(part, "measurements.md")


def write_table(part, rows):
    text = markdown(rows, datetime.date.today().isoformat(), machine())
    page_of(part).write_text(with_table(page_of(part).read_text(), part, text))


PARTS = {
    "planner": lambda: google_benchmark("planner_bench"),
    "slow": lambda: google_benchmark("slow_gpus_bench"),
    "regroup": lambda: google_benchmark("regroup_bench"),
    "pass": lambda: google_benchmark("pass_bench"),
    "scrape": lambda: google_benchmark("scrape_bench"),
    "spot": spot,
    "trainer": trainer,
    "system": system,
    "fleet": fleet,
    "storm": storm,
}

PAGES = {"planner": "planner.md", "slow": "stragglers.md", "spot": "spot.md"}  # of the other parts: measurements.md


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all by default")
    chosen = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        parser.error(f"there is no benchmark {unknown[0]}; use {', '.join(PARTS)}")
    measured = {part: PARTS[part]() for part in chosen}
    rows = [result for part in measured.values() for result in part]
    table(rows)
    (ROOT / "build/bench.json").write_text(json.dumps(rows, indent=1) + "\n")
    for part in measured:
        write_table(part, measured[part])
    return 1 if any(result["name"].endswith(": failed") and not result["holds"] for result in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
