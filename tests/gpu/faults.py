"""Step E: a peer that dies or freezes in a sum, while connecting, and while its sum is aborted. The survivor notices it in
time, never counts a broken step as done, and learns the same with a new generation."""
import signal
import time

import agents
import models
from machine import largest_difference
from stages import EQUAL, lesson, train

NOTICED_WITHIN_S = 30  # the timeout of peers, 5 s, and that of four steps or of the first connections
STEPS = {"gpu": 400, "cpu": 60}
LOST_AFTER = 5  # steps


def run(machine, report):
    job = lesson(machine, models.TINY_GPT2, steps=STEPS[machine.device], learning_rate="1e-4")
    reference = train(machine, job, agents.one_worker(job))
    for name, number in (("killed", signal.SIGKILL), ("frozen", signal.SIGSTOP)):
        with Pair(machine, job) as pair:
            pair.start()
            pair.until_step(LOST_AFTER)
            lose(report, pair, f"a peer {name} in a step", number, reference)
    with Pair(machine, job) as pair:
        pair.start()
        pair.until_connecting()
        lose(report, pair, "a peer frozen while it connects", signal.SIGSTOP, reference)
    with Pair(machine, job) as pair:
        pair.start()
        pair.until_step(LOST_AFTER)
        pair.lost.signal_workers(signal.SIGSTOP)
        resume(report, pair, "a peer frozen while its sum is aborted", reference)


def lose(report, pair, name, number, reference):
    """The peer is lost; then the survivor alone is the next generation."""
    pair.lost.signal_workers(number)
    began = time.monotonic()
    state = pair.survivor.until(lambda state: state["workers"][0]["phase"] == "Broken", pair.machine.patience())
    worker = state["workers"][0]
    report.number(f"{name}: noticed after", time.monotonic() - began, "s", at_most=NOTICED_WITHIN_S)
    report.holds(f"{name}: the survivor names it", pair.lost.name in worker["message"], worker["message"])
    resume(report, pair, name, reference)


def resume(report, pair, name, reference):
    pair.survivor.put(agents.assignment(pair.job, agents.one_worker(pair.job), [pair.survivor], generation=2))
    began = time.monotonic()
    pair.survivor.until(lambda state: state["workers"][0]["generation"] == 2, pair.machine.patience())
    report.number(f"{name}: the next generation begins after", time.monotonic() - began, "s", at_most=NOTICED_WITHIN_S)
    status = pair.survivor.wait_for_exit(pair.machine.patience())
    report.holds(f"{name}: the survivor trains to the end", status == 0, f"status {status}")
    report.number(f"{name}: largest difference of a loss", largest_difference(pair.survivor.losses(), reference), at_most=EQUAL)


class Pair:
    """Two data-parallel workers in two pods: one survives, the other is lost."""

    def __init__(self, machine, job):
        self.machine, self.job = machine, job
        self.survivor, self.lost = machine.agent(), machine.agent()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.survivor.stop()
        self.lost.stop()

    def start(self):
        half = self.job.microbatches() // 2
        stages = [agents.Stage(0, self.job.layers(), [half, half])]
        pods = [self.survivor, self.lost]
        for pod in pods:
            pod.until_ready()
        for pod in pods:
            pod.put(agents.assignment(self.job, stages, pods))

    def until_step(self, step):
        self.survivor.until_step(step, patience=self.machine.patience())

    def until_connecting(self):
        """On a GPU, until NCCL of the lost peer begins to connect; on a CPU, until the peer prepares its generation."""
        if not self.machine.has_gpu:
            return self.lost.until(lambda state: state["workers"][0]["phase"] == "Preparing")
        deadline = time.monotonic() + self.machine.patience()
        while "Init START" not in (self.lost.nccl_log.read_text() if self.lost.nccl_log.exists() else ""):
            if time.monotonic() > deadline:
                raise RuntimeError("NCCL did not begin to connect")
