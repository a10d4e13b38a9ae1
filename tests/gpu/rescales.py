"""Step F: twenty changes of shape. Workers join and leave, and a checkpoint is written meanwhile."""
import dataclasses
import json
import statistics

import agents
import models
from machine import host_memory_mib, largest_difference
from stages import EQUAL, lesson, train, two_stages

CHANGES = 20
STEPS_BETWEEN = 3
SETTLED = 6  # the change after which memory is compared with that after the last
MEMORY_GROWTH = 0.1


def run(machine, report):
    size = {"batch": 16, "microbatch": 2, "length": 128, "learning_rate": "1e-4", "steps": 10 ** 6}
    folder = machine.folder / "checkpoints"
    job = lesson(machine, models.TINY_GPT2, checkpoint={"path": str(folder), "everySteps": 20}, **size)
    series = Series(machine, job)
    try:
        for change in range(1, CHANGES + 1):
            series.change()
        series.note_memory()
    finally:
        series.stop()
    report_series(machine, report, series)
    last = max(series.losses)
    undisturbed = train(machine, dataclasses.replace(job, steps=last, checkpoint={"path": ""}), agents.one_worker(job))
    report.number(f"largest difference of a loss in {last} steps", largest_difference(series.losses, undisturbed), at_most=EQUAL)
    manifests = list(folder.rglob("manifest.json"))
    report.holds("checkpoints were completed meanwhile", bool(manifests), f"{len(manifests)} in the folder")


def report_series(machine, report, series):
    report.number("changes", series.changes, at_least=CHANGES)
    report.number("training stops for, median", statistics.median(series.stops), "s")
    report.number("training stops for, longest", max(series.stops), "s")
    settled, last = series.host[SETTLED], series.host[-1]
    report.number("host memory of the worker that stays: growth", last / settled - 1, at_most=MEMORY_GROWTH)
    if machine.has_gpu:
        report.number("GPU memory: growth", series.gpu[-1] / series.gpu[SETTLED] - 1, at_most=MEMORY_GROWTH)
    else:
        report.skip("GPU memory: growth", "no GPU")


class Series:
    """A job whose first pod stays; a second one joins and leaves by turns, for replicas and for stages."""

    def __init__(self, machine, job):
        self.machine, self.job = machine, job
        self.stays, self.other = machine.agent(), None
        self.changes, self.stops, self.host, self.gpu, self.losses = 0, [], [], [], {}
        self.stays.until_ready()
        self.stays.put(agents.assignment(job, agents.one_worker(job), [self.stays], generation=1))
        self.stays.until_step(STEPS_BETWEEN, 1, machine.patience())

    def change(self):
        self.changes += 1
        generation = 1 + self.changes
        if self.other is None:
            self.other = self.machine.agent()
            self.other.until_ready()
            self.begin(generation, self.shape())
        else:
            self.begin(generation, agents.one_worker(self.job))
            self.other.until(lambda state: state["workers"][0]["phase"] == "Released", self.machine.patience())
            self.other.stop()  # as the operator deletes its pod
            self.other = None
            self.note_memory()

    def shape(self):
        half = self.job.microbatches() // 2
        replicas = [agents.Stage(0, self.job.layers(), [half, half])]
        return replicas if self.changes % 4 == 1 else two_stages(self.job)

    def begin(self, generation, stages):
        pods = [self.stays, self.other]
        assignment = agents.assignment(self.job, stages, pods, generation=generation)
        for pod in pods:
            pod.put(assignment)
        self.stays.until_step(0, generation, self.machine.patience())
        first = self.stays.request("GET", "/v1/state")["progress"]["resumedStep"]
        state = self.stays.until_step(first + STEPS_BETWEEN, generation, self.machine.patience())
        self.stops.append(state["progress"]["times"]["stopped"])

    def note_memory(self):
        self.host.append(host_memory_mib(self.stays.workers()[0]))
        if self.machine.has_gpu:
            self.gpu.append(self.machine.gpu_memory_mib())

    def stop(self):
        self.losses = self.stays.losses()
        for pod in filter(None, (self.stays, self.other)):
            pod.stop()
