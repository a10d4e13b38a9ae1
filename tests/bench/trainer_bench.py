#!/usr/bin/env python3
"""Measures the trainer against eager PyTorch and its own simulator, side by side in one run.

Prints rows {name, value, unit, goal} as JSON; scripts/bench.py runs it. Makes build/pytorch, a virtual environment with
PyTorch and all its wheels, on first use.
"""
import datetime
import json
import os
import pathlib
import random
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
STAND_IN = "nvidia-l4"  # the planner wants an accelerator that it knows; its figures come from the profile
HOST = "127.75.%d.%d"
MODEL = {"name": "bench", "family": "gpt2", "layers": 4, "hiddenSize": 256, "heads": 4, "ffnSize": 1024, "vocabSize": 4096,
         "maxPositions": 256, "tiedEmbeddings": True}
JOB = {"globalBatchSize": 16, "microbatchSize": 4, "sequenceLength": 256}
ROUNDS = 5  # of both sides by turns: what else the machine does falls on both
STEPS = 8
WARM_UP = 3


def say(text):
    print(f"[bench] {text}", file=sys.stderr)


def python_with_pytorch():
    python = PYTORCH / "bin/python"
    if not (PYTORCH / "complete").exists():
        say("making a virtual environment with PyTorch 2.11.0 in build/pytorch")
        subprocess.run([sys.executable, "-m", "venv", PYTORCH], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch==2.11.0", "numpy"], check=True)
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

    def ends_of_steps(self):
        lines = pathlib.Path(self.log.name).read_text().splitlines()
        return [datetime.datetime.fromisoformat(line.split()[0].rstrip("Z")) for line in lines if " step generation=" in line]

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


def assignment(agent, stages, data, steps, model=None, job=None):
    """Stages: [[first, last, [microbatches of each replica]], ...], one worker a replica."""
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
            "workers": workers, "rendezvous": 0, "callback": ""}


def our_steps(folder, stages, threads, data):
    """Seconds of each step after the first ones. From the worker's log, which costs it nothing: whoever asks its agent often
    takes time from it that PyTorch's side is not asked for."""
    workers = sum(len(shares) for _, _, shares in stages)
    agent = Agent(folder, workers, threads)
    try:
        agent.until(lambda state: True)
        agent.request("PUT", "/v1/assignment", assignment(agent, stages, data, 10 ** 6))
        while len(ends := agent.ends_of_steps()) < WARM_UP + STEPS + 1:
            if agent.process.poll() is not None:
                raise RuntimeError(f"{agent.name} ended")
            time.sleep(0.5)
        return [(later - earlier).total_seconds() for earlier, later in zip(ends[WARM_UP:], ends[WARM_UP + 1:])][:STEPS]
    finally:
        agent.stop()


def reference_steps(python, workers, threads):
    job = JOB | {"model": MODEL, "threads": threads, "steps": WARM_UP + STEPS}
    environment = os.environ | {"MASTER_ADDR": HOST % (os.getpid() % 250, 250), "MASTER_PORT": "29500", "WORLD_SIZE": str(workers)}
    processes = [subprocess.Popen([python, REFERENCE, json.dumps(job)], stdout=subprocess.PIPE, env=environment | {"RANK": str(rank)})
                 for rank in range(workers)]
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("the reference in PyTorch failed")
    return json.loads(outputs[0])[WARM_UP:]


def against_pytorch(folder, python, data, name, workers, threads):
    layers = MODEL["layers"] + 2
    microbatches = JOB["globalBatchSize"] // JOB["microbatchSize"] // workers
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours += our_steps(folder, [[0, layers, [microbatches] * workers]], threads, data)
        theirs += reference_steps(python, workers, threads)
    ratio = statistics.median(ours) / statistics.median(theirs)
    return [{"name": f"trainer: step of {name}", "value": statistics.median(ours), "unit": "s", "goal": None},
            {"name": f"trainer: step of {name}, as a multiple of PyTorch's", "value": ratio, "unit": "x", "goal": 1.05}]


def first_step(folder, data):
    """From the start of the process to the end of the first step of a tiny model."""
    tiny = MODEL | {"layers": 2, "hiddenSize": 64, "ffnSize": 256}
    seconds = []
    for _ in range(ROUNDS):
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
    """What `sailor simulate` needs to know of this machine: the profile and the links that the trainer measures, and a pool."""
    spec = {"model": {"config": MODEL}, "training": {"globalBatchSize": JOB["globalBatchSize"], "sequenceLength": JOB["sequenceLength"],
            "microbatchSizes": [JOB["microbatchSize"]], "optimizer": {"clipNorm": "1"}, "steps": 1}, "data": {"format": "Tokens", "path": "/unused.bin"},
            "objective": {"type": "MaxThroughput"}}
    job = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "bench"}, "spec": spec}
    (folder / "job.yaml").write_text(json.dumps(job))  # JSON is YAML
    profiles = folder / "profiles"
    profiles.mkdir(exist_ok=True)
    profile = [TRAINER, "profile", "--job", folder / "job.yaml", "--accelerator", STAND_IN, "--threads", "1", "--concurrency", "2"]
    (profiles / "profile.yaml").write_bytes(subprocess.run(profile, stdout=subprocess.PIPE, check=True).stdout)
    links = subprocess.run([TRAINER, "links"], stdout=subprocess.PIPE, check=True).stdout.decode()
    pool = {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "cpu"},
            "spec": {"region": "local", "zone": "local-a", "accelerator": STAND_IN, "provisioning": "OnDemand", "gpusPerNode": 2, "maxNodes": 1,
                     "pricePerGpuHour": "1"}}
    (folder / "cluster.yaml").write_text(f"{json.dumps(pool)}\n---\n{links}")


def estimated_step(folder, stages):
    agent = types.SimpleNamespace(name="bench", host="", gpus=2)
    (folder / "plan.json").write_text(json.dumps(assignment(agent, stages, "", 1)["plan"]))
    command = [SAILOR, "simulate", "-f", folder / "job.yaml", "--cluster", folder / "cluster.yaml", "--profiles", folder / "profiles",
               "--plan", folder / "plan.json", "-o", "json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["estimate"]["iterationSeconds"]


def against_simulator(folder, data):
    """The profile is made between the steps that it is to foretell: what else the machine does falls on both."""
    layers = MODEL["layers"] + 2
    microbatches = JOB["globalBatchSize"] // JOB["microbatchSize"]
    stages = [[0, layers // 2, [microbatches]], [layers // 2, layers, [microbatches]]]
    measured, estimated = [], []
    for _ in range(ROUNDS):
        measured += our_steps(folder, stages, 1, data)
        measured_world(folder)
        estimated.append(estimated_step(folder, stages))
    ratio = statistics.median(estimated) / statistics.median(measured)
    return [{"name": "trainer: step of two stages", "value": statistics.median(measured), "unit": "s", "goal": None},
            {"name": "trainer: two stages, how far the simulator is off, from our own profile", "value": abs(ratio - 1), "unit": "x", "goal": 0.1}]


def main():
    python = python_with_pytorch()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = folder / "tokens.bin"
        random.seed(1)
        data.write_bytes(b"".join(random.randrange(MODEL["vocabSize"]).to_bytes(2, "little") for _ in range(200_000)))
        say("the trainer against eager PyTorch")
        rows = against_pytorch(folder, python, data, "one worker with two threads", 1, 2)
        rows += against_pytorch(folder, python, data, "two data-parallel workers (DDP over Gloo)", 2, 1)
        say("the trainer against the simulator")
        rows += against_simulator(folder, data)
        rows += first_step(folder, data)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
