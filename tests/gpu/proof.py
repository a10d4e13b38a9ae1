#!/usr/bin/env python3
"""Proves on a machine with a GPU what no other machine can: that the trainer is right and fast there.

  proof.py [--device gpu|cpu] [--into FOLDER] [STEP...]

Each step takes less than ten minutes and can run alone; without a STEP all run. Writes gpu-proof.json into the folder, which
by default is the current one, and prints a table. Status 1 if a check failed. With --device cpu, the default without a GPU,
each step does what a CPU can show, and says what it skipped. docs/gpu.md describes the steps.
"""
import argparse
import pathlib
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import estimates  # noqa: E402
import faults  # noqa: E402
import plans  # noqa: E402
import programs  # noqa: E402
import rescales  # noqa: E402
import speed  # noqa: E402
import stages  # noqa: E402
from machine import Machine  # noqa: E402
from report import Report  # noqa: E402

STEPS = {"A": ("programs start, tests, a hidden GPU", programs.run), "B": ("speed beside PyTorch", speed.run),
         "C": ("two stages, messages, host memory", stages.run), "D": ("plans over NCCL", plans.run),
         "E": ("killed and frozen workers", faults.run), "F": ("changes of shape", rescales.run),
         "G": ("a measured profile, the simulator", estimates.run)}
SECONDS = 570  # of a step


def run_step(name, machine, report):
    what, run = STEPS[name]
    print(f"[gpu-proof] step {name}: {what}", file=sys.stderr, flush=True)
    began = time.monotonic()
    machine.deadline = began + SECONDS
    report.begin(name, what)
    try:
        run(machine, report)
    except Exception as error:  # noqa: BLE001: the next step may show more
        traceback.print_exc()
        report.fail("the step ran to its end", str(error))
    report.end(time.monotonic() - began)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", choices=["gpu", "cpu"], help="default: gpu if the trainer can use one here")
    options.add_argument("--into", type=pathlib.Path, default=pathlib.Path.cwd(), help="folder of gpu-proof.json")
    options.add_argument("steps", nargs="*", metavar="STEP", help="one of " + ", ".join(STEPS))
    asked = options.parse_args()
    steps = asked.steps or list(STEPS)
    if unknown := set(steps) - set(STEPS):
        options.error(f"unknown step {', '.join(sorted(unknown))}; use {', '.join(STEPS)}")
    with tempfile.TemporaryDirectory(prefix="sailor-gpu-proof-") as folder:
        machine = Machine("cpu", folder)
        machine.device = asked.device or ("gpu" if machine.capabilities["usableGpus"] > 0 else "cpu")
        report = Report(asked.into / "gpu-proof.json", {"device": machine.device, **machine.capabilities})
        for name in steps:
            run_step(name, machine, report)
    print(report.table())
    return 1 if "failed" in report.outcomes(steps) else 0


if __name__ == "__main__":
    sys.exit(main())
