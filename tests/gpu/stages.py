"""Step C: two stages that send messages by way of the host. Losses equal those of the CPU, and host memory does not grow
with the number of microbatches."""

import agents
import models
from machine import host_memory_mib, largest_difference

EQUAL = 1e-4  # relative
STEPS = 20
SLACK_MIB = 16


def lesson(machine, model=models.TINY_LLAMA, **sizes):
    """A job whose loss falls within its steps."""
    data = machine.folder / "lesson.bin"
    if not data.exists():
        agents.write_tokens_to_learn(data, model["vocabSize"])
    return agents.Job(model, data, **{"batch": 16, "microbatch": 2, "length": 64, "steps": STEPS, "learning_rate": "1e-3", **sizes})


def train(machine, job, stages, device=None, **plan_options):
    """Trains to the last step, each worker in an agent of its own. Returns the losses."""
    pods = [machine.agent(device) for _ in range(agents.workers_of(stages))]
    try:
        for pod in pods:
            pod.until_ready()
        assignment = agents.assignment(job, stages, pods, **plan_options)
        for pod in pods:
            pod.put(assignment)
        for pod in pods:
            if pod.wait_for_exit(machine.patience()) != 0:
                raise RuntimeError(f"{pod.name} failed; its log:\n{pod.log_file.read_text()[-2000:]}")
        return pods[0].losses()
    finally:
        for pod in pods:
            pod.stop()


def two_stages(job):
    middle = job.layers() // 2
    return [agents.Stage(0, middle, [job.microbatches()]), agents.Stage(middle, job.layers(), [job.microbatches()])]


def run(machine, report):
    job = lesson(machine)
    reference = train(machine, job, agents.one_worker(job), device="cpu")
    losses = train(machine, job, two_stages(job))
    report.holds("the loss falls", losses[STEPS] < 0.9 * losses[1], f"from {losses[1]:.4f} to {losses[STEPS]:.4f}")
    report.number("two stages beside one worker on the CPU: largest difference of a loss", largest_difference(losses, reference), at_most=EQUAL)
    compare_memory(machine, report)


def compare_memory(machine, report):
    few, many = (host_memory(machine, microbatches) for microbatches in (8, 64))
    for stage, (with_few, with_many) in enumerate(zip(few, many)):
        report.number(f"stage {stage}: host memory with 8 microbatches", with_few, "MiB")
        report.number(f"stage {stage}: more with 64", with_many - with_few, "MiB", at_most=SLACK_MIB + 0.05 * with_few)


def host_memory(machine, microbatches):
    """Returns the memory of each stage's worker. A message has 16 MiB on a GPU and 1 MiB on a CPU."""
    hidden, length = (1024, 1024) if machine.has_gpu else (128, 512)
    model = models.llama("wide", 2, hidden, 8, 8, hidden, vocabulary=512)
    job = lesson(machine, model, batch=4 * microbatches, microbatch=4, length=length, steps=10 ** 6)
    stages = two_stages(job)
    with machine.agent() as first, machine.agent() as last:
        pods = [first, last]
        for pod in pods:
            pod.until_ready()
        for pod in pods:
            pod.put(agents.assignment(job, stages, pods))
        first.until_step(1, patience=machine.patience())
        return [host_memory_mib(pod.workers()[0], "VmHWM") for pod in pods]
