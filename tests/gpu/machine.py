"""The programs and the GPU that the proof runs with."""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

import agents

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Machine:
    def __init__(self, device, folder):
        self.device, self.folder = device, pathlib.Path(folder)
        self.python = os.environ.get("SAILOR_PYTHON", sys.executable)  # with PyTorch
        self.deadline = float("inf")
        self._hosts = itertools.count()
        self.capabilities = json.loads(self.run([self.program("sailor-trainer-gpu"), "capabilities"]).stdout)

    @property
    def has_gpu(self):
        return self.device == "gpu"

    def program(self, name):
        """In the bundle programs lie in bin/, in a checkout in build/."""
        places = [ROOT / "bin" / name, ROOT / "build/bin" / name, ROOT / "build/dev/tests" / name]
        return next((place for place in places if place.exists()), places[1])

    def environment(self, **more):
        """For our programs: LibTorch's folders are in SAILOR_LIBRARIES, which run.sh sets. Python finds its own."""
        libraries = ":".join(filter(None, [os.environ.get("SAILOR_LIBRARIES", ""), os.environ.get("LD_LIBRARY_PATH", "")]))
        # The tests of equal losses need plain FP32; steps that measure speed remove the override.
        return {**os.environ, "LD_LIBRARY_PATH": libraries, "NVIDIA_TF32_OVERRIDE": "0", **more}

    def run(self, command, check=True, patience=None, **environment):
        left = max(1, min(patience or 3600, self.deadline - time.monotonic()))
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=left, env=self.environment(**environment), cwd=ROOT)
        if check and done.returncode != 0:
            raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with status {done.returncode}: {done.stderr[-2000:]}")
        return done

    def agent(self, device=None, **environment):
        """Starts an agent with one worker. Workers share GPU 0, which NCCL allows only between hosts, so each agent poses
        as a host. Its sums then go over sockets: good for equal losses, useless for timing."""
        host = f"host-{next(self._hosts)}"
        as_host = {"NCCL_HOSTID": host, "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_IB_DISABLE": "1",
                   "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT",
                   "NCCL_DEBUG_FILE": str(self.folder / f"nccl-{host}")}
        agent = agents.Agent(self.program("sailor-trainer-gpu"), self.folder, options=("--device", device or self.device),
                             environment=self.environment(**as_host, **environment))
        agent.nccl_log = self.folder / f"nccl-{host}"
        return agent

    def patience(self):
        return max(5, min(180, self.deadline - time.monotonic()))

    def gpu_memory_mib(self):
        query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
        return float(self.run(query).stdout)

    def accelerator(self):
        """Returns the catalogue's figures of this GPU, or null."""
        file = ROOT / "core/model/accelerators.json"
        models = self.capabilities["gpus"]
        known = {entry["accelerator"]: entry for entry in json.loads(file.read_text())}
        for part, name in (("H100", "nvidia-h100-80gb"), ("H200", "nvidia-h200-141gb"), ("A100", "nvidia-a100-80gb"), ("L4", "nvidia-l4")):
            if models and part in models[0].split():
                return known[name]
        return None


def host_memory_mib(pid, field="RssAnon"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no {field}")


def largest_difference(losses, reference):
    """The largest relative difference of the losses of the steps that both have."""
    common = sorted(losses.keys() & reference.keys())
    if not common:
        raise RuntimeError("no step in common")
    return max(abs(losses[step] - reference[step]) / abs(reference[step]) for step in common)
