"""Step D: plans whose sums go over NCCL learn what one worker on the CPU learns, and connect only when groups are made."""
import dataclasses

import agents
import models
from machine import largest_difference
from stages import EQUAL, lesson, train, two_stages


def plans_of(job):
    layers, all_microbatches = job.layers(), job.microbatches()
    half = [all_microbatches // 2] * 2
    alone = agents.Stage(0, layers, [all_microbatches], [2])
    beside = agents.Stage(0, layers, [all_microbatches - 2, 2], [2, 1])
    return {"two stages, tied embeddings": (two_stages(job), False, {}),
            "data parallel": ([agents.Stage(0, layers, half)], False, {}),
            "tensor parallel": ([alone], False, {}),
            "tensor and sequence parallel": ([alone], True, {}),
            "sharded optimizer": ([agents.Stage(0, layers, half)], False, {"shardedOptimizer": True}),
            "tensor-parallel size 2 beside 1": ([beside], False, {})}


def run(machine, report):
    job = lesson(machine, models.TINY_GPT2)
    reference = train(machine, job, agents.one_worker(job), device="cpu")
    for name, (stages, sequence_parallelism, options) in plans_of(job).items():
        of_plan = dataclasses.replace(job, sequence_parallelism=sequence_parallelism)
        losses = train(machine, of_plan, stages, **options)
        report.number(f"{name}: largest difference of a loss", largest_difference(losses, reference), at_most=EQUAL)
    check_connections(machine, report)


def check_connections(machine, report):
    """A connection that is made in a step would show up between its first step and its last."""
    name = "groups connect before the first step only"
    if not machine.has_gpu:
        return report.skip(name, "NCCL needs a GPU; sums went over Gloo")
    job = lesson(machine, models.TINY_GPT2, steps=10 ** 6)
    with machine.agent() as first, machine.agent() as last:
        pods = [first, last]
        for pod in pods:
            pod.until_ready()
        for pod in pods:
            pod.put(agents.assignment(job, two_stages(job), pods))
        first.until_step(1, patience=machine.patience())
        before = connections(pods)
        first.until_step(20, patience=machine.patience())
        report.holds(name, 0 < before == connections(pods), f"{before} connections before, {connections(pods)} after")


def connections(pods):
    return sum(pod.nccl_log.read_text().count("Init COMPLETE") for pod in pods if pod.nccl_log.exists())
