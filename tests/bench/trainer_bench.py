#!/usr/bin/env python3
"""Measures the trainer against eager PyTorch and its own simulator, side by side in one run.

Prints rows {name, value, unit, goal} as JSON, and on stderr what they are made of; scripts/bench.py runs it. Makes
build/pytorch, a virtual environment with PyTorch and all its wheels, on first use.
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import types
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINER = ROOT / "build/bin/sailor-trainer"
SAILOR = ROOT / "build/bin/sailor"
PYTORCH = ROOT / "build/pytorch"
REFERENCE = pathlib.Path(__file__).with_name("pytorch_reference.py")
STAND_IN = "nvidia-l4"  # the planner needs an accelerator that it knows; its figures come from the profile
HOST = "127.75.%d.%d"
MODEL = {"name": "bench", "family": "gpt2", "layers": 4, "hiddenSize": 256, "heads": 4, "ffnSize": 1024, "vocabSize": 4096,
         "maxPositions": 256, "tiedEmbeddings": True}
JOB = {"globalBatchSize": 16, "microbatchSize": 4, "sequenceLength": 256}
STEPS = 10  # workers log the times of this many steps together
WARM_UP = 3
TIMES = ("forward", "backward", "messages", "sums", "update")  # the names with which a worker logs them
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


class Agent:
    """An agent process with its workers, as a trainer pod has them."""

    count = 0

    def __init__(self, folder, gpus, threads):
        Agent.count += 1
        self.name, self.gpus, self.folder = f"bench-{Agent.count}", gpus, folder
        self.host = HOST % (os.getpid() % 250, Agent.count)
        self.began = time.monotonic()
        self.log = open(folder / f"{self.name}.log", "w")
        self.process = subprocess.Popen([TRAINER, "agent", "--name", self.name, "--host", self.host, "--gpus", str(gpus), "--threads",
                                         str(threads), "--termination-log", folder / self.name], stderr=self.log)

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.host}:7070{path}", data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read() or "{}")

    def until(self, holds, patience=120):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                state = self.request("GET", "/v1/state")
                if holds(state):
                    return state
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    break
            time.sleep(0.005)
        raise RuntimeError(f"{self.name} did not come so far; its log:\n" + pathlib.Path(self.log.name).read_text()[-2000:])

    def lines(self, message):
        """Of each line with this message: its fields."""
        lines = pathlib.Path(self.log.name).read_text().splitlines()
        return [dict(field.split("=", 1) for field in line.split() if "=" in field) for line in lines if f" msg={message} " in line]

    def ends_of_steps(self):
        return [datetime.datetime.fromisoformat(fields["time"].rstrip("Z")) for fields in self.lines("step")]

    def times(self):
        """Of each worker: where its time went in the newest ten steps, in seconds a step."""
        times = {}
        for fields in self.lines("times"):
            times[int(fields["rank"])] = {name: float(fields[name + "_s"]) for name in TIMES}
        return [times[rank] for rank in sorted(times)]

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


def assignment(agent, stages, data, steps, model=None, job=None, schedule_times=None):
    """Stages: [[first, last, [microbatches of each replica]], ...], with one worker per replica."""
    job = JOB if job is None else job
    pool = f"local-a/{STAND_IN}/ondemand"
    workers, gpu = [], 0
    for stage, (_, _, shares) in enumerate(stages):
        for replica in range(len(shares)):
            workers.append({"agent": 0, "gpu": gpu, "role": {"stage": stage, "replica": replica, "shard": 0}})
            gpu += 1
    model = MODEL if model is None else model
    plan = {"model": model["name"], "globalBatchSize": job["globalBatchSize"], "microbatchSize": job["microbatchSize"],
            "stages": [{"layers": [first, last], "replicas": [{"pool": pool, "tensorParallel": 1, "microbatches": n} for n in shares]}
                       for first, last, shares in stages]}
    training = {"globalBatchSize": job["globalBatchSize"], "sequenceLength": job["sequenceLength"], "steps": steps,
                "microbatchSizes": [job["microbatchSize"]], "optimizer": {"clipNorm": "1"}}
    return {"namespace": "bench", "job": "bench", "jobUid": "bench", "generation": 1, "model": {"config": model}, "training": training,
            "data": {"format": "Tokens", "path": str(data)}, "checkpoint": {"path": ""}, "plan": plan,
            "agents": [{"name": agent.name, "host": agent.host, "port": 7070, "storePort": 7071, "pool": pool, "gpus": agent.gpus}],
            "workers": workers, "rendezvous": 0, "callback": "", **({"scheduleTimes": schedule_times} if schedule_times else {})}


def our_steps(folder, stages, threads, data, warm_up=WARM_UP, schedule_times=None):
    """Returns the seconds of each step after the first ones, and each worker's times. They come from the log of the
    workers, which costs them nothing. Frequent requests to an agent would take time that PyTorch does not have to spend."""
    workers = sum(len(shares) for _, _, shares in stages)
    agent = Agent(folder, workers, threads)
    try:
        agent.until(lambda state: True)
        agent.request("PUT", "/v1/assignment", assignment(agent, stages, data, 10 ** 6, schedule_times=schedule_times))
        deadline = time.monotonic() + PATIENCE
        while len(ends := agent.ends_of_steps()) < warm_up + STEPS + 1:
            if agent.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{agent.name} did not do its steps; its log:\n" + pathlib.Path(agent.log.name).read_text()[-2000:])
            time.sleep(0.5)
        steps = [(later - earlier).total_seconds() for earlier, later in zip(ends[warm_up:], ends[warm_up + 1:])][:STEPS]
        return steps, agent.times()
    finally:
        agent.stop()


def reference_steps(python, workers, threads):
    job = JOB | {"model": MODEL, "threads": threads, "steps": WARM_UP + STEPS}
    environment = os.environ | {"MASTER_ADDR": HOST % (os.getpid() % 250, 250), "MASTER_PORT": "29500", "WORLD_SIZE": str(workers)}
    processes = [subprocess.Popen([python, REFERENCE, json.dumps(job)], stdout=subprocess.PIPE, env=environment | {"RANK": str(rank)})
                 for rank in range(workers)]
    outputs = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("the reference in PyTorch failed")
    return json.loads(outputs[0])[WARM_UP:]


def against_pytorch(folder, python, data, rounds, name, workers, threads):
    layers = MODEL["layers"] + 2
    microbatches = JOB["globalBatchSize"] // JOB["microbatchSize"] // workers
    ours, theirs = [], []
    for _ in range(rounds):
        ours += our_steps(folder, [[0, layers, [microbatches] * workers]], threads, data)[0]
        theirs += reference_steps(python, workers, threads)
    ratio = statistics.median(ours) / statistics.median(theirs)
    say(f"{name}: {statistics.median(ours):.3f} s a step, PyTorch {statistics.median(theirs):.3f} s: {ratio:.3f} (goal 1.05)")
    return [{"name": f"trainer: step of {name}", "value": statistics.median(ours), "unit": "s", "goal": None},
            {"name": f"trainer: step of {name}, as a multiple of PyTorch's", "value": ratio, "unit": "x", "goal": 1.05}]


def first_step(folder, data, rounds):
    """Measures the time from the start of the process to the end of the first step of a tiny model."""
    tiny = MODEL | {"layers": 2, "hiddenSize": 64, "ffnSize": 256}
    seconds = []
    for _ in range(rounds):
        agent = Agent(folder, 1, 1)
        try:
            agent.until(lambda state: True)
            agent.request("PUT", "/v1/assignment", assignment(agent, [[0, 4, [4]]], data, 10 ** 6, tiny))
            agent.until(lambda state: state.get("progress", {}).get("step", 0) >= 1)
            seconds.append(time.monotonic() - agent.began)
        finally:
            agent.stop()
    return [{"name": "trainer: process start to first step of a tiny model", "value": statistics.median(seconds), "unit": "s", "goal": 2}]


def measured_world(folder):
    """Writes what `sailor simulate` needs to know of this machine: measured profile and links, and a pool."""
    spec = {"model": {"config": MODEL}, "training": {"globalBatchSize": JOB["globalBatchSize"], "sequenceLength": JOB["sequenceLength"],
            "microbatchSizes": [JOB["microbatchSize"]], "optimizer": {"clipNorm": "1"}, "steps": 1}, "data": {"format": "Tokens", "path": "/unused.bin"},
            "objective": {"type": "MaxThroughput"}}
    job = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "bench"}, "spec": spec}
    (folder / "job.yaml").write_text(json.dumps(job))  # JSON is YAML
    profiles = folder / "profiles"
    profiles.mkdir(exist_ok=True)
    profile = [TRAINER, "profile", "--job", folder / "job.yaml", "--accelerator", STAND_IN, "--threads", "1", "--concurrency", "2",
               "--seconds", "4"]
    (profiles / "profile.yaml").write_bytes(subprocess.run(profile, stdout=subprocess.PIPE, check=True).stdout)
    links = subprocess.run([TRAINER, "links"], stdout=subprocess.PIPE, check=True).stdout.decode()
    pool = {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "cpu"},
            "spec": {"region": "local", "zone": "local-a", "accelerator": STAND_IN, "provisioning": "OnDemand", "gpusPerNode": 2, "maxNodes": 1,
                     "pricePerGpuHour": "1"}}
    (folder / "cluster.yaml").write_text(f"{json.dumps(pool)}\n---\n{links}")


def simulated(folder, stages):
    """Returns the estimate of the step, and the times from which workers make the simulated schedule."""
    agent = types.SimpleNamespace(name="bench", host="", gpus=2)
    (folder / "plan.json").write_text(json.dumps(assignment(agent, stages, "", 1)["plan"]))
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
    for (first, last, shares), worker in zip(stages, times):
        passes = {"forward": shares[0], "backward": shares[0], "update": 1}
        expected = {name: count * sum(layers[layer][name] for layer in range(first, last)) for name, count in passes.items()}
        say(f"  layers {first} to {last}: " + ", ".join(
            f"{name} {seconds:.3f}" + (f" (profile {expected[name]:.3f})" if name in expected else "") for name, seconds in worker.items()))


def against_simulator(folder, data, rounds):
    """Makes the profile just before the steps that it predicts, so that other work of the machine affects both."""
    layers = MODEL["layers"] + 2
    rows = []
    for name, cut in (("equal stages", layers // 2), ("four layers before two", 4)):
        microbatches = JOB["globalBatchSize"] // JOB["microbatchSize"]
        stages = [[0, cut, [microbatches]], [cut, layers, [microbatches]]]
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
        random.seed(1)
        data.write_bytes(b"".join(random.randrange(MODEL["vocabSize"]).to_bytes(2, "little") for _ in range(200_000)))
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
