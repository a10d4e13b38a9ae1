"""Agents of the trainer as processes of this machine, and assignments as the operator would send them.

Benchmarks and the proof on a GPU (tests/gpu) use it. It needs only Python's own library.
"""
import dataclasses
import datetime
import json
import os
import pathlib
import random
import signal
import subprocess
import time
import urllib.error
import urllib.request

STAND_IN = "nvidia-l4"  # a plan names an accelerator; the trainer does not look at it
POOL = f"local-a/{STAND_IN}/ondemand"
HOST = "127.75.%d.%d"
TIMES = ("forward", "backward", "messages", "sums", "update")  # the names with which a worker logs them


class Agent:
    """An agent process with its workers, as a trainer pod has them."""

    count = 0

    def __init__(self, trainer, folder, gpus=1, threads=1, options=(), environment=None):
        Agent.count += 1
        self.name, self.gpus = f"pod-{Agent.count}", gpus
        self.host = HOST % (os.getpid() % 250, Agent.count)
        self.began = time.monotonic()
        self.log_file = pathlib.Path(folder) / f"{self.name}.log"
        self.termination_log = pathlib.Path(folder) / self.name
        self._log = open(self.log_file, "w")
        command = [trainer, "agent", "--name", self.name, "--host", self.host, "--gpus", str(gpus), "--threads", str(threads),
                   "--termination-log", self.termination_log, *options]
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.host}:7070{path}", data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read() or "{}")

    def put(self, assignment):
        return self.request("PUT", "/v1/assignment", assignment)

    def until(self, holds, patience=120):
        """Returns the agent's state once `holds` is true of it. An agent that ends, or takes longer, is an error."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                state = self.request("GET", "/v1/state")
                if holds(state):
                    return state
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if self.process.poll() is not None:
                    break
            time.sleep(0.005)
        raise RuntimeError(f"{self.name} did not come so far; its log:\n" + self.log_file.read_text()[-2000:])

    def until_ready(self):
        """Waits until all workers of the agent can take an assignment."""
        self.until(lambda state: all(worker["phase"] != "Starting" for worker in state["workers"]))

    def until_step(self, step, generation=0, patience=120):
        """For the agent with rank 0: waits until this step of this generation, or of a newer one, is done."""
        return self.until(lambda state: state.get("progress", {}).get("step", -1) >= step
                          and state["progress"]["generation"] >= generation, patience)

    def wait_for_exit(self, patience=120):
        return self.process.wait(timeout=patience)

    def workers(self):
        """Returns the process ids of the workers."""
        pid = self.process.pid
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def signal_workers(self, number):
        for worker in self.workers():
            os.kill(worker, number)

    def lines(self, message):
        """Of each line with this message: its fields."""
        return [dict(field.split("=", 1) for field in line.split() if "=" in field)
                for line in self.log_file.read_text().splitlines() if f" msg={message} " in line]

    def ends_of_steps(self):
        return [datetime.datetime.fromisoformat(fields["time"].rstrip("Z")) for fields in self.lines("step")]

    def seconds_of_steps(self, warm_up, count, patience=900):
        """Returns the seconds of each step after the first ones. They come from the log, which costs the workers nothing;
        frequent requests would take time from them."""
        deadline = time.monotonic() + patience
        while len(ends := self.ends_of_steps()) < warm_up + count + 1:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not do its steps; its log:\n" + self.log_file.read_text()[-2000:])
            time.sleep(0.5)
        return [(later - earlier).total_seconds() for earlier, later in zip(ends[warm_up:], ends[warm_up + 1:])][:count]

    def losses(self):
        """Returns the losses of the steps of which this agent had rank 0."""
        return {int(fields["step"]): float(fields["loss"]) for fields in self.lines("step")}

    def times(self):
        """Of each worker: where its time went in the newest ten steps, in seconds a step."""
        times = {}
        for fields in self.lines("times"):
            times[int(fields["rank"])] = {name: float(fields[name + "_s"]) for name in TIMES}
        return [times[rank] for rank in sorted(times)]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self._log.close()


@dataclasses.dataclass
class Job:
    model: dict
    data: str
    batch: int = 16
    microbatch: int = 4
    length: int = 256
    steps: int = 10 ** 6
    precision: str = "FP32"
    learning_rate: str = "3e-4"
    checkpoint: dict = dataclasses.field(default_factory=lambda: {"path": ""})
    sequence_parallelism: bool = False

    def microbatches(self):
        return self.batch // self.microbatch

    def layers(self):
        return self.model["layers"] + 2

    def training(self):
        return {"globalBatchSize": self.batch, "sequenceLength": self.length, "steps": self.steps, "precision": self.precision,
                "microbatchSizes": [self.microbatch], "optimizer": {"clipNorm": "1", "learningRate": self.learning_rate},
                **({"sequenceParallelism": "Always"} if self.sequence_parallelism else {})}


@dataclasses.dataclass
class Stage:
    first: int  # layers [first, last)
    last: int
    microbatches: list  # of each replica
    tensor_parallel: list = dataclasses.field(default_factory=list)  # of each replica; empty: 1

    def replicas(self):
        sizes = self.tensor_parallel or [1] * len(self.microbatches)
        return [{"pool": POOL, "tensorParallel": size, "microbatches": count} for size, count in zip(sizes, self.microbatches)]


def one_worker(job):
    return [Stage(0, job.layers(), [job.microbatches()])]


def workers_of(stages):
    return sum(replica["tensorParallel"] for stage in stages for replica in stage.replicas())


def plan(job, stages, **options):
    return {"model": job.model["name"], "globalBatchSize": job.batch, "microbatchSize": job.microbatch,
            "stages": [{"layers": [stage.first, stage.last], "replicas": stage.replicas()} for stage in stages],
            **({"sequenceParallelism": True} if job.sequence_parallelism else {}), **options}


def assignment(job, stages, agents, generation=1, uid="job", schedule_times=None, **plan_options):
    """Roles go to the GPUs of the agents in their order. GPUs without a role leave the job."""
    roles = [{"stage": number, "replica": replica, "shard": shard} for number, stage in enumerate(stages)
             for replica, shape in enumerate(stage.replicas()) for shard in range(shape["tensorParallel"])]
    slots = [{"agent": index, "gpu": gpu} for index, agent in enumerate(agents) for gpu in range(agent.gpus)]
    workers = [{**slot, "role": role} for slot, role in zip(slots, roles)] + slots[len(roles):]
    return {"namespace": "default", "job": uid, "jobUid": uid, "generation": generation, "model": {"config": job.model},
            "training": job.training(), "data": {"format": "Tokens", "path": str(job.data)}, "checkpoint": job.checkpoint,
            "plan": plan(job, stages, **plan_options),
            "agents": [{"name": agent.name, "host": agent.host, "port": 7070, "storePort": 7071, "pool": POOL, "gpus": agent.gpus}
                       for agent in agents],
            "workers": workers, "rendezvous": 0, "callback": "", **({"scheduleTimes": schedule_times} if schedule_times else {})}


def write_random_tokens(file, vocabulary, count=200_000):
    random.seed(1)
    write_tokens(file, (random.randrange(vocabulary) for _ in range(count)), vocabulary)


def write_tokens_to_learn(file, vocabulary, count=200_000):
    """Nine in ten tokens follow from the one before, so the loss falls and wrong gradients change it."""
    random.seed(1)

    def tokens():
        token = 0
        for _ in range(count):
            token = (5 * token + 3) % vocabulary if random.random() < 0.9 else random.randrange(vocabulary)
            yield token
    write_tokens(file, tokens(), vocabulary)


def write_tokens(file, tokens, vocabulary):
    """The name of the file must end in .u32.bin if the vocabulary is larger than 65,536."""
    size = 2 if vocabulary <= 1 << 16 else 4
    pathlib.Path(file).write_bytes(b"".join(token.to_bytes(size, "little") for token in tokens))
