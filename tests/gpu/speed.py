"""Step B: one worker beside the same model in PyTorch, eager and compiled."""
import json
import os
import statistics
import subprocess
import time

import agents
import models
from machine import ROOT

WARM_UP, STEPS = 5, 15
AS_FAST_AS_EAGER, AS_FAST_AS_COMPILED = 1.0, 0.9
LEAST_MFU = {"350M": 0.40, "1.3B": 0.50}


def job_of(machine, name):
    model, sizes = (models.SPEED if machine.has_gpu else models.SPEED_ON_CPU)[name]
    data = machine.folder / f"random-{model['vocabSize']}.u32.bin"
    if not data.exists():
        agents.write_tokens(data, (token * 7919 % model["vocabSize"] for token in range(400_000)), 1 << 17)
    return agents.Job(model, data, precision="BF16" if machine.has_gpu else "FP32", **sizes)


def our_step(machine, job):
    """Returns the median time of a step. FP32 products may use TF32 here, as in PyTorch's run."""
    with machine.agent(NVIDIA_TF32_OVERRIDE="") as agent:
        agent.until_ready()
        agent.put(agents.assignment(job, agents.one_worker(job), [agent]))
        return statistics.median(agent.seconds_of_steps(WARM_UP, STEPS, machine.patience()))


def pytorch_step(machine, job, compiled):
    request = {"model": job.model, "globalBatchSize": job.batch, "microbatchSize": job.microbatch, "sequenceLength": job.length,
               "precision": job.precision, "device": "cuda" if machine.has_gpu else "cpu", "compiled": compiled, "threads": 1,
               "steps": WARM_UP + STEPS}
    reference = ROOT / "tests/bench/pytorch_reference.py"
    done = subprocess.run([machine.python, reference, json.dumps(request)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=machine.patience(), env=os.environ)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return statistics.median(json.loads(done.stdout)[WARM_UP:])


def run(machine, report):
    machine.measured_steps = {}
    for name in models.SPEED if machine.has_gpu else models.SPEED_ON_CPU:
        if machine.deadline - time.monotonic() < 60:
            report.skip(name, "no time is left in this step")
            continue
        measure(machine, report, name)


def measure(machine, report, name):
    job = job_of(machine, name)
    seconds = our_step(machine, job)
    report.number(f"{name}: a step", seconds, "s")
    report.number(f"{name}: tokens", job.batch * job.length / seconds, "tokens/s")
    report_utilization(machine, report, name, job, seconds)
    compare(machine, report, f"{name}: speed beside eager PyTorch", job, seconds, compiled=False)
    if machine.has_gpu:
        compare(machine, report, f"{name}: speed beside compiled PyTorch", job, seconds, compiled=True)
    else:
        report.skip(f"{name}: speed beside compiled PyTorch", "no GPU")


def compare(machine, report, name, job, seconds, compiled):
    try:
        theirs = pytorch_step(machine, job, compiled)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return report.skip(name, f"PyTorch's run failed: {error}")
    least = AS_FAST_AS_COMPILED if compiled else AS_FAST_AS_EAGER
    report.number(name, theirs / seconds, "x", at_least=least if machine.has_gpu else None)


def report_utilization(machine, report, name, job, seconds):
    accelerator = machine.accelerator()
    if accelerator is None:
        return report.skip(f"{name}: model FLOPs utilization", "no GPU of the catalogue")
    peak = float(accelerator["gpu"]["teraflops"]["bf16"]) * 1e12
    report.number(f"{name}: model FLOPs utilization", models.operations(job) / seconds / peak, at_least=LEAST_MFU.get(name))
