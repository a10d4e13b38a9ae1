#!/usr/bin/env python3
"""Measures the trainer against eager PyTorch and its own simulator, side by side in one run.

Prints rows {name, value, unit, goal} as JSON, and on stderr what they are made of; scripts/bench.py runs it. Makes
build/pytorch, a virtual environment with PyTorch and all its wheels, on first use.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import agents  # noqa: E402
TRAINER = ROOT / "build/bin/sailor-trainer"
SAILOR = ROOT / "build/bin/sailor"
PYTORCH = ROOT / "build/pytorch"
REFERENCE = pathlib.Path(__file__).with_name("pytorch_reference.py")
MODEL = {"name": "bench", "family": "gpt2", "layers": 4, "hiddenSize": 256, "heads": 4, "ffnSize": 1024, "vocabSize": 4096,
         "maxPositions": 256, "tiedEmbeddings": True}
JOB = agents.Job(MODEL, data="", batch=16, microbatch=4, length=256)
STEPS = 10  # workers log the times of this many steps together
WARM_UP = 3
PATIENCE = 900  # seconds; a command that takes longer has failed


def say(text):
    print(f"[bench] {text}", file=sys.stderr)


def python_with_pytorch():
    python = PYTORCH / "bin/python"
    if not (PYTORCH / "complete").exists():
        say("making a virtual environment with PyTorch 2.11.0 in build/pytorch: some minutes, and 6 GB of disk")
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", PYTORCH], check=True)  # Debian's venv cannot install pip
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "torch==2.11.0", "numpy"], stdout=sys.stderr, check=True)
        (PYTORCH / "complete").touch()
    return python


def our_steps(folder, stages, threads, data, warm_up=WARM_UP, schedule_times=None):
    """Returns the seconds of each step after the first ones, and each worker's times. They come from the log of the
    workers, which costs them nothing. Frequent requests to an agent would take time that PyTorch does not have to spend."""
    job = dataclasses.replace(JOB, data=data)
    with agents.Agent(TRAINER, folder, agents.workers_of(stages), threads) as agent:
        agent.until_ready()
        agent.put(agents.assignment(job, stages, [agent], schedule_times=schedule_times))
        return agent.seconds_of_steps(warm_up, STEPS, PATIENCE), agent.times()


def reference_steps(python, workers, threads):
    job = {"model": MODEL, "globalBatchSize": JOB.batch, "microbatchSize": JOB.microbatch, "sequenceLength": JOB.length,
           "threads": threads, "steps": WARM_UP + STEPS}
    environment = os.environ | {"MASTER_ADDR": agents.HOST % (os.getpid() % 250, 250), "MASTER_PORT": "29500", "WORLD_SIZE": str(workers)}
    processes = [subprocess.Popen([python, REFERENCE, json.dumps(job)], stdout=subprocess.PIPE, env=environment | {"RANK": str(rank)})
                 for rank in range(workers)]
    outputs = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("the reference in PyTorch failed")
    return json.loads(outputs[0])[WARM_UP:]


def against_pytorch(folder, python, data, rounds, name, workers, threads):
    shares = [JOB.microbatches() // workers] * workers
    ours, theirs = [], []
    for _ in range(rounds):
        ours += our_steps(folder, [agents.Stage(0, JOB.layers(), shares)], threads, data)[0]
        theirs += reference_steps(python, workers, threads)
    ratio = statistics.median(ours) / statistics.median(theirs)
    say(f"{name}: {statistics.median(ours):.3f} s a step, PyTorch {statistics.median(theirs):.3f} s: {ratio:.3f} (goal 1.05)")
    return [{"name": f"trainer: step of {name}", "value": statistics.median(ours), "unit": "s", "goal": None},
            {"name": f"trainer: step of {name}, as a multiple of PyTorch's", "value": ratio, "unit": "x", "goal": 1.05}]


def first_step(folder, data, rounds):
    """Measures the time from the start of the process to the end of the first step of a tiny model."""
    tiny = dataclasses.replace(JOB, model=MODEL | {"layers": 2, "hiddenSize": 64, "ffnSize": 256}, data=data)
    seconds = []
    for _ in range(rounds):
        with agents.Agent(TRAINER, folder) as agent:
            agent.until(lambda state: True)
            agent.put(agents.assignment(tiny, agents.one_worker(tiny), [agent]))
            agent.until_step(1)
            seconds.append(time.monotonic() - agent.began)
    return [{"name": "trainer: process start to first step of a tiny model", "value": statistics.median(seconds), "unit": "s", "goal": 2}]


def measured_world(folder):
    """Writes what `sailor simulate` needs to know of this machine: measured profile and links, and a pool."""
    spec = {"model": {"config": MODEL}, "training": JOB.training(), "data": {"format": "Tokens", "path": "/unused.bin"},
            "objective": {"type": "MaxThroughput"}}
    job = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "bench"}, "spec": spec}
    (folder / "job.yaml").write_text(json.dumps(job))  # JSON is YAML
    profiles = folder / "profiles"
    profiles.mkdir(exist_ok=True)
    profile = [TRAINER, "profile", "--job", folder / "job.yaml", "--accelerator", agents.STAND_IN, "--threads", "1", "--concurrency", "2",
               "--seconds", "4"]
    (profiles / "profile.yaml").write_bytes(subprocess.run(profile, stdout=subprocess.PIPE, check=True).stdout)
    links = subprocess.run([TRAINER, "links"], stdout=subprocess.PIPE, check=True).stdout.decode()
    pool = {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "cpu"},
            "spec": {"region": "local", "zone": "local-a", "accelerator": agents.STAND_IN, "provisioning": "OnDemand", "gpusPerNode": 2, "maxNodes": 1,
                     "pricePerGpuHour": "1"}}
    (folder / "cluster.yaml").write_text(f"{json.dumps(pool)}\n---\n{links}")


def simulated(folder, stages):
    """Returns the estimate of the step, and the times from which workers make the simulated schedule."""
    (folder / "plan.json").write_text(json.dumps(agents.plan(JOB, stages)))
    command = [SAILOR, "simulate", "-f", folder / "job.yaml", "--cluster", folder / "cluster.yaml", "--profiles", folder / "profiles",
               "--plan", folder / "plan.json", "--execution", "trainer", "-o", "json"]
    answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return answer["estimate"], answer["scheduleTimes"]


def profiled_times(folder):
    """Returns the times of each layer in the profile that was just made."""
    layers = {}
    for line in (folder / "profiles/profile.yaml").read_text().splitlines():
        if "forwardSeconds" not in line:
            continue
        fields = dict(re.findall(r"(\w+): \"?([\d.e-]+)", line))
        for layer in range(int(fields["first"]), int(fields["last"])):
            layers[layer] = {name: float(fields[name + "Seconds"]) for name in ("forward", "backward", "update")}
    return layers


def tell_terms(folder, stages, measured, estimated, times):
    """Compares the terms of a step, to show which of them is wrong if the step is."""
    layers = profiled_times(folder)
    say(f"step of {measured:.3f} s, estimated {estimated['iterationSeconds']:.3f} s: {estimated['iterationSeconds'] / measured:.3f} (goal 0.9 to 1.1); "
        + ", ".join(f"{name} {seconds:.3f}" for name, seconds in estimated["breakdown"].items()))
    for stage, worker in zip(stages, times):
        passes = {"forward": stage.microbatches[0], "backward": stage.microbatches[0], "update": 1}
        expected = {name: count * sum(layers[layer][name] for layer in range(stage.first, stage.last)) for name, count in passes.items()}
        say(f"  layers {stage.first} to {stage.last}: " + ", ".join(
            f"{name} {seconds:.3f}" + (f" (profile {expected[name]:.3f})" if name in expected else "") for name, seconds in worker.items()))


def against_simulator(folder, data, rounds):
    """Makes the profile just before the steps that it predicts, so that other work of the machine affects both."""
    layers, shares = JOB.layers(), [JOB.microbatches()]
    rows = []
    for name, cut in (("equal stages", layers // 2), ("four layers before two", 4)):
        stages = [agents.Stage(0, cut, shares), agents.Stage(cut, layers, shares)]
        ratios, steps = [], []
        for _ in range(rounds):
            measured_world(folder)
            estimated, schedule_times = simulated(folder, stages)
            seconds, times = our_steps(folder, stages, 1, data, STEPS, schedule_times)
            steps.append(statistics.median(seconds))
            ratios.append(estimated["iterationSeconds"] / steps[-1])
            tell_terms(folder, stages, steps[-1], estimated, times)
        ratio = statistics.median(ratios)
        rows += [{"name": f"trainer: step of two stages, {name}", "value": statistics.median(steps), "unit": "s", "goal": None},
                 {"name": f"trainer: {name}, the simulator's step from our own profile as a multiple", "value": ratio, "unit": "x", "goal": None},
                 {"name": f"trainer: {name}, how far the simulator is off", "value": abs(ratio - 1), "unit": "x", "goal": 0.1}]
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=5, help="of both sides by turns: what else the machine does falls on both")
    options.add_argument("--only", choices=["pytorch", "simulator", "start"], help="one part of it")
    asked = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = folder / "tokens.bin"
        agents.write_random_tokens(data, MODEL["vocabSize"])
        if asked.only in (None, "simulator"):
            say("the trainer against the simulator")
            rows += against_simulator(folder, data, asked.rounds)
        if asked.only in (None, "start"):
            rows += first_step(folder, data, asked.rounds)
        if asked.only in (None, "pytorch"):
            python = python_with_pytorch()
            say("the trainer against eager PyTorch")
            rows += against_pytorch(folder, python, data, asked.rounds, "one worker with two threads", 1, 2)
            rows += against_pytorch(folder, python, data, asked.rounds, "two data-parallel workers (DDP over Gloo)", 2, 1)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
